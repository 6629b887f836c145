"""`IcebergCatalog.apply`: the change that a run of an asset was launched to make, once, and what is told of it."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
from typing import Any

import dagster as dg
import pytest

from seriatim.commit import Append, Base, Rewrite
from seriatim.dagster import ForceConfig, IcebergCatalog
from tests.dagster_api.accounts import (
    DAYS,
    TABLE,
    TABLE_KEY,
    add,
    append_one,
    balances,
    daily,
    deposit,
    failure_of,
    observed,
    rival,
    rows,
    told,
)

TICK = {"dagster/schedule_name": "nightly", ".dagster/scheduled_execution_time": "2026-11-20T02:00:00+00:00"}


def materialize(asset: dg.AssetsDefinition, catalog: IcebergCatalog, **options: Any) -> dg.ExecuteInProcessResult:
    return dg.materialize([asset], resources={"catalog": catalog}, **options)


def forced(name: str) -> dict[str, Any]:
    return {"ops": {name: {"config": {"force": True}}}}


def test_what_landed_is_told(catalog: IcebergCatalog) -> None:
    before = catalog.load().load_table(TABLE).current_snapshot()
    assert before is not None

    result = materialize(deposit(), catalog)

    metadata = told(result, "deposit")
    head = catalog.load().load_table(TABLE).current_snapshot()
    assert head is not None
    assert balances(catalog) == {1: 110, 2: 200, 3: 300}
    assert metadata["base_snapshot_id"] == str(before.snapshot_id)
    assert metadata["committed_snapshot_id"] == str(head.snapshot_id)
    assert metadata["operation_ids"] == [f"deposit|run={result.run_id}"]
    assert (metadata["attempts"], metadata["conflicts"], metadata["already_applied"]) == (1, 0, False)
    assert (metadata["rows_changed"], metadata["rows_removed"], metadata["dagster/row_count"]) == (1, 1, 3)
    assert metadata["total_bal"] == 610
    assert metadata["took_ms"] > 0
    assert 0 <= metadata["queued_ms"] <= metadata["took_ms"]
    assert [column.name for column in metadata["dagster/column_schema"].columns] == ["id", "bal"]


def test_the_lineage_names_the_run_and_whoever_was_before(catalog: IcebergCatalog) -> None:
    """Newest first; the first commit is none of ours."""
    first = materialize(deposit(name="first"), catalog)
    second = materialize(deposit(name="second"), catalog)

    head, earlier, foreign = told(second, "second")["lineage"].splitlines()[2:]
    assert f"/runs/{second.run_id}" in head
    assert f"/runs/{first.run_id}" in earlier
    assert "| +1 -1 |" in head
    assert "made by somebody else" in foreign
    assert len(told(first, "first")["lineage"].splitlines()) == 2 + 2


def test_a_change_that_lost_is_computed_again_and_the_conflict_is_observed(catalog: IcebergCatalog) -> None:
    """The rival's deposit is in the sum; the observation is one of the table's asset."""
    result = materialize(deposit(after_read=rival(catalog, 1)), catalog)

    assert balances(catalog)[1] == 111
    metadata = told(result, "deposit")
    assert (metadata["attempts"], metadata["conflicts"]) == (2, 1)
    (conflict,) = observed(result)
    assert conflict.asset_key == TABLE_KEY
    assert conflict.metadata["loser_run_id"].value == result.run_id


def test_a_partition_is_applied_once_whoever_launches_it(catalog: IcebergCatalog) -> None:
    """A backfill by partition, and one more launch of one of them."""
    results = [materialize(daily(), catalog, partition_key=key) for key in ("mon", "tue", "mon")]

    assert balances(catalog)[1] == 120
    first, _, again = (told(result, "daily_deposit") for result in results)
    assert (first["already_applied"], again["already_applied"]) == (False, True)
    assert again["applied_before"] == {"daily_deposit|mon": first["committed_snapshot_id"]}
    assert (again["committed_snapshot_id"], again["rows_changed"]) == ("none", 0)


def test_a_forced_partition_is_applied_once_more_by_each_run_that_is_forced(catalog: IcebergCatalog) -> None:
    materialize(daily(), catalog, partition_key="mon")

    for expected in (120, 130):
        result = materialize(daily(), catalog, partition_key="mon", run_config=forced("daily_deposit"))

        assert balances(catalog)[1] == expected
        assert told(result, "daily_deposit")["operation_ids"] == [f"daily_deposit|mon|run={result.run_id}"]
    materialize(daily(), catalog, partition_key="mon")
    assert balances(catalog)[1] == 130


@pytest.mark.filterwarnings("ignore:.*backfill_policy")
def test_a_backfill_in_a_single_run_is_one_commit_and_each_partition_is_told_its_own(catalog: IcebergCatalog) -> None:
    """One of the three has been applied before."""
    asset = daily(backfill_policy=dg.BackfillPolicy.single_run())
    first = materialize(asset, catalog, partition_key="tue")
    snapshots = len(catalog.load().load_table(TABLE).snapshots())

    tags = {"dagster/asset_partition_range_start": "mon", "dagster/asset_partition_range_end": "wed"}
    result = materialize(asset, catalog, tags=tags)

    assert balances(catalog)[1] == 130
    assert len(catalog.load().load_table(TABLE).snapshots()) == snapshots + 1
    events = {event.partition: event.metadata for event in result.asset_materializations_for_node("daily_deposit")}
    assert set(events) == set(DAYS.get_partition_keys())
    for key, metadata in events.items():
        assert metadata["operation_ids"].value == [f"daily_deposit|{key}"]
        assert metadata["already_applied"].value is (key == "tue")
    done = told(first, "daily_deposit")["committed_snapshot_id"]
    assert events["tue"]["applied_before"].value == {"daily_deposit|tue": done}


def failing_once(error: Exception, retry_policy: dg.RetryPolicy | None) -> dg.AssetsDefinition:
    """Make an asset that commits and then fails, the first time."""

    @dg.asset(retry_policy=retry_policy)
    def fails_once(context: dg.AssetExecutionContext, catalog: IcebergCatalog) -> dg.MaterializeResult[None]:
        result = catalog.apply(context, TABLE, add(10))
        if context.op_execution_context.retry_number == 0:
            raise error
        return result

    return fails_once


@pytest.mark.parametrize(
    ("error", "retry_policy"),
    [
        (ValueError("after the commit"), dg.RetryPolicy(max_retries=1)),
        (dg.RetryRequested(max_retries=1), None),
    ],
    ids=["RetryPolicy", "RetryRequested"],
)
def test_a_step_that_is_retried_after_its_commit_changes_nothing(
    catalog: IcebergCatalog, error: Exception, retry_policy: dg.RetryPolicy | None
) -> None:
    result = materialize(failing_once(error, retry_policy), catalog)

    assert result.success
    assert balances(catalog)[1] == 110
    metadata = told(result, "fails_once")
    head = catalog.load().load_table(TABLE).current_snapshot()
    assert head is not None
    assert metadata["already_applied"] is True
    assert metadata["applied_before"] == {f"fails_once|run={result.run_id}": str(head.snapshot_id)}


def test_a_tick_that_launches_twice_changes_once(catalog: IcebergCatalog) -> None:
    """Two daemons, or a tick that is replayed: other runs, the same scheduled time."""
    results = [materialize(deposit(), catalog, tags=TICK) for _ in range(2)]
    later = materialize(deposit(), catalog, tags={**TICK, ".dagster/scheduled_execution_time": "2026-11-21T02:00:00"})

    assert balances(catalog)[1] == 120
    assert [told(result, "deposit")["already_applied"] for result in (*results, later)] == [False, True, False]


def test_each_launch_of_an_asset_without_partitions_is_a_change_of_its_own(catalog: IcebergCatalog) -> None:
    for _ in range(2):
        materialize(deposit(), catalog)

    assert balances(catalog)[1] == 120


@dg.asset
def twice(context: dg.AssetExecutionContext, catalog: IcebergCatalog) -> dg.MaterializeResult[None]:
    catalog.apply(context, TABLE, add(10))
    return catalog.apply(context, TABLE, append_one)


def test_a_second_change_by_the_same_name_is_refused_and_not_left_out(catalog: IcebergCatalog) -> None:
    """It would be taken for the first one, and reported as applied."""
    result = materialize(twice, catalog, raise_on_error=False)

    assert not result.success
    assert "make them one change" in failure_of(result)
    assert balances(catalog) == {1: 110, 2: 200, 3: 300}


@dg.asset
def both(context: dg.AssetExecutionContext, catalog: IcebergCatalog) -> dg.MaterializeResult[None]:
    def change(base: Base) -> list[Any]:
        return [Rewrite(rows({1: 0}), keys="id"), Append(rows({9: 9}))]

    return catalog.apply(context, TABLE, change)


def test_several_edits_are_one_change(catalog: IcebergCatalog) -> None:
    materialize(both, catalog)

    assert balances(catalog) == {1: 0, 2: 200, 3: 300, 9: 9}


@dg.asset
def by_argument(
    context: dg.AssetExecutionContext, config: ForceConfig, catalog: IcebergCatalog
) -> dg.MaterializeResult[None]:
    return catalog.apply(context, TABLE, add(10), force=False, table_key=dg.AssetKey("elsewhere"))


def test_an_argument_goes_before_the_configuration(catalog: IcebergCatalog) -> None:
    """The same run twice by its tick: forced, it would be a change of its own."""
    for _ in range(2):
        materialize(by_argument, catalog, tags=TICK, run_config=forced("by_argument"))

    assert balances(catalog)[1] == 110


def test_a_table_that_cannot_be_described_afterwards_is_no_failure(catalog: IcebergCatalog) -> None:
    """The change has landed; a failed run would say that it has not."""

    @dg.asset
    def odd(context: dg.AssetExecutionContext, catalog: IcebergCatalog) -> dg.MaterializeResult[None]:
        return catalog.apply(context, TABLE, add(10), totals=["no such column"])

    result = materialize(odd, catalog)

    assert result.success
    assert balances(catalog)[1] == 110
    assert told(result, "odd")["attempts"] == 1
