"""A conflict as an event that is told of: by the run that lost, and in the table that keeps them."""

from __future__ import annotations

from dataclasses import dataclass

from seriatim.commit import Conflict, Winner


@dataclass(frozen=True, slots=True)
class ConflictEvent:
    """One attempt of one run that lost to a commit of another: a row of the conflicts table."""

    event_id: str
    table: str
    attempt: int  # Counts from 1.
    loser_run_id: str
    loser_operation_ids: tuple[str, ...]
    winner_run_id: str | None  # None: the winning commit names no run.
    winner_operation_ids: tuple[str, ...]
    winner_snapshot_id: int | None  # None: the table moved without a new snapshot.
    expected_snapshot_id: int | None  # None: the table was empty when it was read.
    actual_snapshot_id: int | None  # None: the table is empty now.
    wasted_ms: int
    occurred_at_ms: int  # Since 1970-01-01 UTC.

    @classmethod
    def of(cls, conflict: Conflict, *, run_id: str) -> ConflictEvent:
        """Return the event of a conflict that the run `run_id` met."""
        winner = conflict.winner or Winner(snapshot_id=0, operation_ids=(), run_id=None)
        return cls(
            event_id=conflict.event_id,
            table=conflict.table,
            attempt=conflict.attempt,
            loser_run_id=run_id,
            loser_operation_ids=conflict.operation_ids,
            winner_run_id=winner.run_id,
            winner_operation_ids=winner.operation_ids,
            winner_snapshot_id=winner.snapshot_id if conflict.winner is not None else None,
            expected_snapshot_id=conflict.expected_snapshot_id,
            actual_snapshot_id=conflict.actual_snapshot_id,
            wasted_ms=round(conflict.wasted_s * 1000),
            occurred_at_ms=conflict.occurred_at_ms,
        )
