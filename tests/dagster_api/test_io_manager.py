"""`IcebergIOManager`: rows in and out, and a step that is run again when what it read has moved."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
from collections.abc import Callable
from functools import partial
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seriatim.dagster import IcebergCatalog, IcebergIOManager
from tests.dagster_api.accounts import DAYS, TABLE_KEY, balances, failure_of, put, rival, rows, told

UPSERT = {"seriatim/table": "bank.account", "seriatim/write": "upsert", "seriatim/keys": ["id"]}
ACCOUNT = dg.AssetSpec(TABLE_KEY)


def materialize(
    asset: dg.AssetsDefinition,
    catalog: IcebergCatalog,
    *,
    tries_max: int = 5,
    partition_key: str | None = None,
    instance: dg.DagsterInstance | None = None,
) -> dg.ExecuteInProcessResult:
    return dg.materialize(
        [asset, ACCOUNT],
        selection=[asset],
        resources={"io_manager": IcebergIOManager(catalog=catalog, tries_max=tries_max)},
        raise_on_error=False,
        partition_key=partition_key,
        instance=instance,
    )


def interest(amount: int, after_read: Callable[[], object] = lambda: None) -> dg.AssetsDefinition:
    """Make an asset that reads the table that it writes, through the manager."""

    @dg.asset(metadata=UPSERT, ins={"account": dg.AssetIn(TABLE_KEY)})
    def interest(account: pa.Table) -> pa.Table:
        after_read()
        return account.set_column(1, account.schema.field("bal"), pc.add(account["bal"], amount))

    return interest


def written(
    metadata: dict[str, Any], returned: Callable[[], object], partitions_def: dg.PartitionsDefinition[str] | None = None
) -> dg.AssetsDefinition:
    @dg.asset(metadata=metadata, partitions_def=partitions_def)
    def written(context: dg.AssetExecutionContext) -> Any:
        return returned()

    return written


def test_a_step_whose_reading_has_moved_is_run_again(catalog: IcebergCatalog) -> None:
    """The rival's deposit is not lost: the asset is called anew with what it left."""
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialize(interest(10, rival(catalog, 1, 1)), catalog, instance=instance)
        observations = instance.fetch_observations(TABLE_KEY, limit=10).records

    assert result.success
    assert balances(catalog) == {1: 112, 2: 210, 3: 310}
    retries = result.filter_events(lambda event: event.event_type is dg.DagsterEventType.STEP_RESTARTED)
    assert len(list(retries)) == 2
    assert len(observations) == 2
    assert told(result, "interest")["already_applied"] is False


def test_a_step_that_loses_each_time_fails_and_writes_nothing(catalog: IcebergCatalog) -> None:
    result = materialize(interest(10, rival(catalog, 1, 1, 1)), catalog, tries_max=3)

    assert not result.success
    assert balances(catalog) == {1: 103, 2: 200, 3: 300}


def test_what_is_not_read_through_it_is_written_on_whatever_is_there(catalog: IcebergCatalog) -> None:
    """What the manager cannot know: this is a lost update, as its documentation says."""
    commit = rival(catalog, 1)

    def computed() -> pa.Table:
        (balance,) = (balances(catalog)[1],)
        commit()
        return rows({1: balance + 10})

    assert materialize(written(UPSERT, computed), catalog).success
    assert balances(catalog)[1] == 110


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("append", {1: 100, 2: 200, 3: 300, 9: 9}), ("overwrite", {9: 9}), ("upsert", {1: 100, 2: 200, 3: 300, 9: 9})],
)
def test_each_mode_writes_what_its_name_says(catalog: IcebergCatalog, mode: str, expected: dict[int, int]) -> None:
    result = materialize(written({**UPSERT, "seriatim/write": mode}, lambda: rows({9: 9})), catalog)

    assert result.success
    assert balances(catalog) == expected
    assert told(result, "written")["dagster/row_count"] == len(expected)


def test_a_table_that_is_not_there_is_made(catalog: IcebergCatalog) -> None:
    metadata = {"seriatim/table": "new.table", "seriatim/write": "append"}

    assert materialize(written(metadata, lambda: rows({1: 1})), catalog).success

    assert catalog.load().load_table("new.table").scan().to_arrow().to_pylist() == [{"id": 1, "bal": 1}]


def test_a_partition_replaces_its_own_rows(catalog: IcebergCatalog) -> None:
    """And is written once: what a second launch returns is not."""
    days = [{"day": day, "n": 1} for day in ("mon", "tue")]
    metadata = {"seriatim/table": "bank.days", "seriatim/write": "overwrite", "seriatim/partition_column": "day"}
    for key, n in (("mon", 1), ("tue", 1), ("mon", 2)):
        asset = written(metadata, partial(pa.table, {"day": [key], "n": [n]}), DAYS)
        assert materialize(asset, catalog, partition_key=key).success

    read = catalog.load().load_table("bank.days").scan().to_arrow().sort_by("day").to_pylist()
    assert read == days


@pytest.mark.parametrize(
    ("metadata", "returned", "partitions_def", "named"),
    [
        (UPSERT, lambda: [1], None, "list"),
        ({**UPSERT, "seriatim/keys": "id"}, lambda: rows({1: 1}), None, "list of column names"),
        ({**UPSERT, "seriatim/write": "merge"}, lambda: rows({1: 1}), None, "merge"),
        ({"seriatim/table": "bank.account"}, lambda: rows({1: 1}), None, "None"),
        ({**UPSERT, "seriatim/write": "overwrite"}, lambda: rows({1: 1}), DAYS, "partition_column"),
    ],
)
def test_what_cannot_be_written_is_said_and_nothing_is_written(
    catalog: IcebergCatalog, metadata: Any, returned: Any, partitions_def: Any, named: str
) -> None:
    """Without a word how, no guess is made."""
    asset = written(metadata, returned, partitions_def)

    result = materialize(asset, catalog, partition_key="mon" if partitions_def else None)

    assert not result.success
    assert named in failure_of(result)
    assert balances(catalog) == {1: 100, 2: 200, 3: 300}


def test_a_row_that_was_put_meanwhile_is_in_what_is_read(catalog: IcebergCatalog) -> None:
    put(catalog, {4: 400})

    materialize(interest(1), catalog)

    assert balances(catalog) == {1: 101, 2: 201, 3: 301, 4: 401}
