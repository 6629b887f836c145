"""The sensor that moves conflicts from Dagster's event log into an Iceberg table, each of them once.

A run emits its conflicts as observations (`conflicts.py`), at once and come what may of it. The sensor reads what came
after its cursor and appends to the table the events that the table does not have yet. That the append is computed from
the table it lands on makes two sensors that race, or one that dies before its cursor is stored, record each event once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import dagster as dg

from seriatim.conflict_events import ConflictEvent
from seriatim.dagster.catalog import IcebergCatalog
from seriatim.dagster.conflict_log import BATCH_MAX, OVERLAP, EventBatch, read_conflicts
from seriatim.dagster.conflict_view import conflicts_markdown

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from seriatim.commit import Base


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was appended to the conflicts table."""

    conflicts: tuple[ConflictEvent, ...] = ()
    rows_total: int = 0
    snapshot_ids: tuple[int, ...] = field(default=())

    def sentence(self) -> str:
        """Return the count in words."""
        runs = len({conflict.loser_run_id for conflict in self.conflicts})
        return f"recorded {_count(len(self.conflicts), 'conflict')} of {_count(runs, 'run')}"


def conflict_sensor(
    *,
    name: str,
    asset_key: dg.AssetKey,
    conflicts_key: dg.AssetKey,
    identifier: tuple[str, ...],
    catalog_resource_key: str = "catalog",
    batch_max: int = BATCH_MAX,
    overlap: int = OVERLAP,
    minimum_interval_s: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """Return a sensor that records the conflicts observed on `asset_key` in the Iceberg table `identifier`.

    A tick takes at most `batch_max` new events, and looks again at the `overlap` storage ids before its cursor: an
    event store may show an event with a lower id after one with a higher id. An event that cannot be read is logged
    and told in the tick's message; it does not stop the others. Each tick that appends something materializes
    `conflicts_key`, with a table of the latest. The `IcebergCatalog` is taken from the resources, under
    `catalog_resource_key`.
    """

    @dg.sensor(
        name=name,
        required_resource_keys={catalog_resource_key},
        minimum_interval_seconds=minimum_interval_s,
        default_status=default_status,
        description=f"Records each conflict on {asset_key.to_user_string()} once, in {'.'.join(identifier)}.",
    )
    def record(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        catalog: IcebergCatalog = getattr(context.resources, catalog_resource_key)
        cursor = int(context.cursor or 0)
        batch = read_conflicts(context.instance, asset_key, cursor=cursor, batch_max=batch_max, overlap=overlap)
        for bad in batch.unreadable:
            context.log.warning(str(bad))
        recorded = record_conflicts(catalog.load(), identifier, batch.conflicts) if batch.conflicts else Recorded()
        return dg.SensorResult(
            cursor=str(batch.cursor),
            skip_reason=_reason(recorded, batch),
            asset_events=[_materialization(recorded, batch, conflicts_key)] if recorded.conflicts else [],
        )

    return record


def record_conflicts(catalog: Catalog, identifier: tuple[str, ...], conflicts: Sequence[ConflictEvent]) -> Recorded:
    """Append the conflicts that the table does not have yet; the table is made if it is not there.

    Conflicts on the conflicts table itself are not events: recording one would make the next.

    Raises:
        SeriatimError: nothing was appended, or it is not known; record the same conflicts again.
    """
    from pyiceberg.expressions import In

    from seriatim.commit import Append, NoChange, apply
    from seriatim.conflict_rows import conflict_rows
    from seriatim.dagster.conflict_table import ensure_conflict_table

    missing: list[ConflictEvent] = []

    def append_missing(base: Base) -> Append | NoChange:
        event_ids = [conflict.event_id for conflict in conflicts]
        present = set(base.read(where=In("event_id", event_ids), columns=["event_id"])["event_id"].to_pylist())
        missing[:] = [conflict for conflict in conflicts if conflict.event_id not in present]
        return Append(conflict_rows(missing)) if missing else NoChange()

    ensure_conflict_table(catalog, identifier)
    receipt = apply(catalog, identifier, append_missing)
    rows_total = catalog.load_table(identifier).scan().count()
    return Recorded(tuple(missing), rows_total=rows_total, snapshot_ids=receipt.snapshot_ids)


def _materialization(recorded: Recorded, batch: EventBatch, conflicts_key: dg.AssetKey) -> dg.AssetMaterialization:
    return dg.AssetMaterialization(
        asset_key=conflicts_key,
        description=recorded.sentence(),
        metadata={
            "conflicts_recorded": len(recorded.conflicts),
            "wasted_ms": sum(conflict.wasted_ms for conflict in recorded.conflicts),
            "dagster/row_count": recorded.rows_total,
            "committed_snapshot_id": ", ".join(map(str, recorded.snapshot_ids)),
            # What lies in the overlap has been recorded before, so that a tick with one conflict shows more than one.
            "latest": dg.MetadataValue.md(conflicts_markdown(batch.conflicts)),
        },
    )


def _reason(recorded: Recorded, batch: EventBatch) -> str:
    """Say what the tick did; Dagster shows a tick that starts no run as skipped, with this text."""
    said = recorded.sentence() if recorded.conflicts else "no new conflicts"
    if batch.unreadable:
        said += f"; {_count(len(batch.unreadable), 'unreadable event')} skipped: {batch.unreadable[0]}"
    return said


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
