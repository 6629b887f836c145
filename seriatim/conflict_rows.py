"""Conflicts as rows of an Iceberg table, by which they outlive the run that met them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

from seriatim.conflict_events import ConflictEvent

SCHEMA: Final = Schema(
    NestedField(1, "event_id", StringType(), required=True, doc="Names the event; unique in this table."),
    NestedField(2, "table", StringType(), required=True, doc="The table that two commits met on."),
    NestedField(3, "attempt", LongType(), required=True, doc="Which attempt of the loser lost, counted from 1."),
    NestedField(4, "loser_run_id", StringType(), required=True),
    NestedField(5, "loser_operation_ids", StringType(), required=True, doc="A JSON array, as in snapshot summaries."),
    NestedField(6, "winner_run_id", StringType(), doc="Null: the winning commit names no run."),
    NestedField(7, "winner_operation_ids", StringType(), required=True, doc="A JSON array, as in snapshot summaries."),
    NestedField(8, "winner_snapshot_id", LongType(), doc="Null: the table moved without a new snapshot."),
    NestedField(9, "expected_snapshot_id", LongType(), doc="What the loser had read. Null: an empty table."),
    NestedField(10, "actual_snapshot_id", LongType(), doc="What it met. Null: an empty table."),
    NestedField(11, "wasted_ms", LongType(), required=True, doc="Time spent on the attempt that lost."),
    NestedField(12, "occurred_at", TimestamptzType(), required=True),
    identifier_field_ids=[1],
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def conflict_rows(events: Sequence[ConflictEvent]) -> pa.Table:
    """Return the events as rows of the table."""
    return pa.Table.from_pylist(
        [
            {
                "event_id": event.event_id,
                "table": event.table,
                "attempt": event.attempt,
                "loser_run_id": event.loser_run_id,
                "loser_operation_ids": json.dumps(event.loser_operation_ids),
                "winner_run_id": event.winner_run_id,
                "winner_operation_ids": json.dumps(event.winner_operation_ids),
                "winner_snapshot_id": event.winner_snapshot_id,
                "expected_snapshot_id": event.expected_snapshot_id,
                "actual_snapshot_id": event.actual_snapshot_id,
                "wasted_ms": event.wasted_ms,
                "occurred_at": event.occurred_at_ms * 1000,  # Microseconds, as the column has.
            }
            for event in events
        ],
        schema=SCHEMA.as_arrow(),
    )


def conflicts_of_rows(rows: pa.Table) -> Iterator[ConflictEvent]:
    """Yield the events that rows of the table stand for, in their order."""
    for row in rows.to_pylist():
        for name in ("loser_operation_ids", "winner_operation_ids"):
            row[name] = tuple(json.loads(row[name]))
        row["occurred_at_ms"] = (row.pop("occurred_at") - _EPOCH) // timedelta(milliseconds=1)
        yield ConflictEvent(**row)
