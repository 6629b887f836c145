"""An IO manager for assets that return rows, with what an IO manager can promise and what it cannot.

Dagster calls the asset between `load_input` and `handle_output`, so that the asset is no part of the commit's loop:

- An asset that reads the table it writes *through the manager* (an input whose table is the output's) commits on the
  snapshot that it read, or not at all. When others have committed meanwhile, the whole step is run again, asset and
  input, up to `tries_max` times. Two such assets lose no update.
- Of an asset that reads the table in another way, or that reads other tables, nothing is known: what it returns is
  appended, upserted or put in the place of what is there, whatever that is by then. A sum that it computed from a
  balance is lost with the balance. Use `IcebergCatalog.apply`, which reads within the retried unit.

Either way a launch lands once, however often it is retried (`seriatim.dagster.operation_ids`).
"""

# No `from __future__ import annotations`: Dagster 1.13 does not understand a resource's type in quotes.
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import dagster as dg
import pyarrow as pa
from pydantic import Field, PrivateAttr
from pyiceberg.expressions import AlwaysTrue, In
from pyiceberg.table import Table

from seriatim.commit import ANY_BASE, Append, Conflict, Edit, RetryPolicy, Rewrite, Upsert, Writer, apply
from seriatim.commit.winner import winner_between
from seriatim.dagster.catalog import IcebergCatalog
from seriatim.dagster.conflicts import ConflictReporter
from seriatim.dagster.errors import OutputError
from seriatim.dagster.first_use import ensure_table
from seriatim.dagster.identifiers import names
from seriatim.dagster.operation_ids import Launch, operations
from seriatim.dagster.receipts import outcome_sentence, receipt_metadata
from seriatim.dagster.table_metadata import described
from seriatim.errors import ConflictError
from seriatim.system import SystemClock, new_id, new_random

TABLE: Final = "seriatim/table"
WRITE: Final = "seriatim/write"
KEYS: Final = "seriatim/keys"
PARTITION_COLUMN: Final = "seriatim/partition_column"
Mode = Literal["append", "upsert", "overwrite"]

_MODES: Final[tuple[Mode, ...]] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a step read of a table, and when it began."""

    table: str
    snapshot_id: int | None  # None: the table was empty
    begun_s: float

    def conflict(self, table: Table, operation_ids: tuple[str, ...], attempt: int) -> Conflict:
        """Return that what was computed from it is lost, and to whom."""
        head, clock = table.current_snapshot(), SystemClock()
        actual = None if head is None else head.snapshot_id
        return Conflict(
            event_id=new_id(),
            table=self.table,
            operation_ids=operation_ids,
            attempt=attempt,
            expected_snapshot_id=self.snapshot_id,
            actual_snapshot_id=actual,
            winner=winner_between(table.metadata, self.snapshot_id, actual),
            wasted_s=clock.monotonic_s() - self.begun_s,
            occurred_at_ms=clock.now_ms(),
        )


class IcebergIOManager(dg.ConfigurableIOManager):
    """Writes the `pyarrow.Table` that an asset returns to an Iceberg table, and hands out tables as inputs.

    The asset's metadata say how: `seriatim/table` (by default, its key), `seriatim/write` (append, upsert or overwrite;
    it must be said), `seriatim/keys` (of upsert: column names), and `seriatim/partition_column` (of overwrite with
    partitions: the column that holds the partition key, so that each replaces its own rows). A table that is not there
    is made with the columns of the first rows.
    """

    catalog: IcebergCatalog
    tries_max: int = Field(default=5, ge=1, description="How often a step that read what it writes may run in all.")

    _read: dict[tuple[object, ...], _Reading] = PrivateAttr(default_factory=dict)

    def load_input(self, context: dg.InputContext) -> pa.Table:
        """Read the whole table behind an input, as it is now.

        Raises:
            NoSuchTableError: nothing has been written to it yet.
        """
        upstream = context.upstream_output
        name = _table(upstream.definition_metadata if upstream is not None else {}, context.asset_key)
        begun_s = SystemClock().monotonic_s()
        table = self.catalog.load().load_table(name)
        head = table.current_snapshot()
        reading = _Reading(name, None if head is None else head.snapshot_id, begun_s)
        self._read.setdefault(_step_of(context, name), reading)
        return table.scan(snapshot_id=reading.snapshot_id).to_arrow()

    def handle_output(self, context: dg.OutputContext, obj: pa.Table) -> None:
        """Write what the asset returned: on what it read through the manager, if it did, and once for each launch.

        Raises:
            OutputError: the asset returned no pyarrow Table, or its metadata do not say how to write it.
            RetryRequested: others committed since the asset read the table; the step is to be run again.
            SeriatimError: as `seriatim.apply` does.
        """
        name = _table(context.definition_metadata, context.asset_key)
        edit = _edit(context, name, obj)
        step, catalog = context.step_context, self.catalog.load()
        reading = self._read.get(_step_of(context, name))
        ensure_table(catalog, names(name), obj.schema)
        partition_keys = tuple(context.asset_partition_keys) if context.has_asset_partitions else None
        launched = operations(Launch.of_run(step.dagster_run, step.instance, context.asset_key, partition_keys))
        running = _Step(context, step.dagster_run, step.instance)
        reporter = ConflictReporter(running, dg.AssetKey([*names(name)]))
        try:
            receipt = apply(
                catalog,
                name,
                lambda _: edit,
                operation_ids=launched.plain_ids,
                partitions=launched.partitions,
                issued_at_ms=launched.issued_at_ms,
                expected_base=ANY_BASE if reading is None else reading.snapshot_id,
                writer=Writer(step.run_id),
                observer=reporter,
            )
        except ConflictError as lost:
            if reading is None:
                raise
            tries = step.previous_attempt_count + 1
            if not lost.attempts:  # The table had moved before one was made, so that nobody has reported it.
                reporter.notify(reading.conflict(catalog.load_table(name), launched.ids, tries))
            wait_s = RetryPolicy().wait_s(tries, new_random())
            raise dg.RetryRequested(max_retries=self.tries_max - 1, seconds_to_wait=wait_s) from lost
        context.log.info(outcome_sentence(receipt))
        table = described(context.log, catalog, name, receipt.head_snapshot_id)
        context.add_output_metadata({**receipt_metadata(receipt), **table})


@dataclass(frozen=True, slots=True)
class _Step:
    """The step whose output is written, as it reports conflicts."""

    context: dg.OutputContext
    run: dg.DagsterRun
    instance: dg.DagsterInstance

    @property
    def log(self) -> dg.DagsterLogManager:
        return self.context.log

    def log_event(self, event: dg.AssetObservation) -> None:
        self.context.log_event(event)


def _step_of(context: dg.InputContext | dg.OutputContext, table: str) -> tuple[object, ...]:
    step = context.step_context
    return (step.run_id, step.step.key, step.previous_attempt_count, table)


def _table(metadata: Mapping[str, Any] | None, key: dg.AssetKey) -> str:
    named = (metadata or {}).get(TABLE)
    return named if isinstance(named, str) else ".".join(key.path)


def _edit(context: dg.OutputContext, table: str, rows: object) -> Edit:
    metadata = context.definition_metadata or {}
    mode, keys, column = metadata.get(WRITE), metadata.get(KEYS), metadata.get(PARTITION_COLUMN)
    if not isinstance(rows, pa.Table):
        raise OutputError(table, reason=f"the asset returned {type(rows).__name__}, which is no pyarrow.Table")
    if mode == "append":
        return Append(rows)
    if mode == "upsert":
        if not isinstance(keys, list) or not keys or not all(isinstance(key, str) for key in keys):
            raise OutputError(table, reason=f"upsert needs {KEYS}, a list of column names, but it is {keys!r}")
        return Upsert(rows, keys=keys)
    if mode == "overwrite" and context.has_asset_partitions:
        if not isinstance(column, str):
            raise OutputError(table, reason=f"with partitions, overwrite needs {PARTITION_COLUMN}, a column name")
        return Rewrite(rows, where=In(column, context.asset_partition_keys))
    if mode == "overwrite":
        return Rewrite(rows, where=AlwaysTrue())
    raise OutputError(table, reason=f"{WRITE} must be one of {', '.join(_MODES)}, but is {mode!r}")
