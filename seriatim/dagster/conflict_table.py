"""The Iceberg table that keeps every conflict once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

from seriatim.dagster.conflicts import ConflictEvent
from seriatim.dagster.first_use import ensure_table

_SCHEMA: Final = Schema(
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


def ensure_conflict_table(catalog: Catalog, identifier: tuple[str, ...]) -> Table:
    """Return the conflicts table, made if it is not there, also by several processes at once.

    Raises:
        CatalogBusyError: the catalog's database was locked for too long.
    """
    return ensure_table(catalog, identifier, _SCHEMA)


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
        schema=_SCHEMA.as_arrow(),
    )
