"""Assets that a stranger would write on `IcebergCatalog`, and what became of their runs."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
from collections.abc import Callable, Mapping
from typing import Any, Final

import dagster as dg
import pyarrow as pa
from pyiceberg.expressions import EqualTo
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from seriatim.commit import Append, Base, Declared, Rewrite
from seriatim.dagster import ForceConfig, IcebergCatalog

TABLE: Final = "bank.account"
TABLE_KEY: Final = dg.AssetKey(["bank", "account"])
SCHEMA: Final = Schema(
    NestedField(1, "id", LongType(), required=True, doc="The account."),
    NestedField(2, "bal", LongType(), required=True),
    identifier_field_ids=[1],
)
DAYS: Final = dg.StaticPartitionsDefinition(["mon", "tue", "wed"])

Hook = Callable[[], object]


def rows(balances: Mapping[int, int]) -> pa.Table:
    """Return rows of the table."""
    return pa.Table.from_pylist([{"id": id_, "bal": bal} for id_, bal in balances.items()], schema=SCHEMA.as_arrow())


def put(catalog: IcebergCatalog, balances: Mapping[int, int]) -> None:
    """Append rows as somebody else would."""
    catalog.load().load_table(TABLE).append(rows(balances))


def balances(catalog: IcebergCatalog) -> dict[int, int]:
    """Read the table."""
    read = catalog.load().load_table(TABLE).scan().to_arrow().to_pylist()
    assert len({row["id"] for row in read}) == len(read)
    return {row["id"]: row["bal"] for row in read}


def add(amount: int, *, after_read: Hook = lambda: None) -> Callable[[Base], Declared]:
    """Return the change that adds to account 1, and that calls `after_read` when it has read it."""

    def change(base: Base) -> Declared:
        (balance,) = base.read(where="id = 1")["bal"].to_pylist()
        after_read()
        return Declared(Rewrite(rows({1: balance + amount}), keys="id"), sums={"bal": amount})

    return change


def deposit(amount: int = 10, *, name: str = "deposit", after_read: Hook = lambda: None) -> dg.AssetsDefinition:
    """Make an asset without partitions."""

    @dg.asset(name=name)
    def asset(
        context: dg.AssetExecutionContext, config: ForceConfig, catalog: IcebergCatalog
    ) -> dg.MaterializeResult[None]:
        return catalog.apply(context, TABLE, add(amount, after_read=after_read), totals=["bal"])

    return asset


def daily(
    amount: int = 10, *, name: str = "daily_deposit", backfill_policy: dg.BackfillPolicy | None = None
) -> dg.AssetsDefinition:
    """Make an asset with partitions: each adds to account 1."""

    @dg.asset(name=name, partitions_def=DAYS, backfill_policy=backfill_policy)
    def daily_deposit(
        context: dg.AssetExecutionContext, config: ForceConfig, catalog: IcebergCatalog
    ) -> dg.MaterializeResult[None]:
        def change(base: Base) -> Declared:
            return add(amount * len(base.pending))(base)

        return catalog.apply(context, TABLE, change)

    return daily_deposit


def rival(catalog: IcebergCatalog, *amounts: int) -> Hook:
    """Return what adds to account 1 the next of the amounts each time, as somebody else's commit."""
    left = list(amounts)

    def commit() -> None:
        if not left:
            return
        table = catalog.load().load_table(TABLE)
        (balance,) = table.scan(row_filter=EqualTo("id", 1)).to_arrow()["bal"].to_pylist()
        table.overwrite(rows({1: balance + left.pop(0)}), EqualTo("id", 1))

    return commit


def told(result: dg.ExecuteInProcessResult, key: str) -> dict[str, Any]:
    """Return the metadata of the one materialization of an asset."""
    (event,) = result.asset_materializations_for_node(key)
    return {name: entry.value for name, entry in event.metadata.items()}


def observed(result: dg.ExecuteInProcessResult) -> list[dg.AssetObservation]:
    """Return the observations that a run made."""
    events = result.filter_events(lambda event: event.event_type is dg.DagsterEventType.ASSET_OBSERVATION)
    return [event.asset_observation_data.asset_observation for event in events]


def evaluated(
    checks: dg.AssetChecksDefinition,
    catalog: IcebergCatalog,
    *,
    only: str | None = None,
    resources: Mapping[str, object] | None = None,
    **config: object,
) -> dict[str, dg.AssetCheckEvaluation]:
    """Run checks, or one of them, as the UI would; return what each came to, by its name."""
    selected = dg.AssetSelection.checks(*(key for key in checks.check_keys if only in (None, key.name)))
    result = dg.materialize(
        [dg.AssetSpec(TABLE_KEY), checks],
        selection=selected,
        resources={"catalog": catalog, **(resources or {})},
        run_config={"ops": {checks.op.name: {"config": config}}} if config else None,
    )
    return {evaluation.check_name: evaluation for evaluation in result.get_asset_check_evaluations()}


def failure_of(result: dg.ExecuteInProcessResult) -> str:
    """Return the message of what the run's step failed with."""
    (failure,) = result.filter_events(lambda event: event.is_step_failure)
    error = failure.step_failure_data.error
    assert error is not None
    return (error.cause or error).message


def append_one(base: Base) -> Append:
    """Return a change that is none of the account's."""
    del base
    return Append(rows({9: 9}))
