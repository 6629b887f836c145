"""Conflicts in Dagster's event log, at times that the test says."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

import dagster as dg
from dagster._core.events import AssetObservationData, DagsterEvent

from seriatim.dagster import ConflictEvent, conflict_observation
from tests.dagster_api.accounts import TABLE_KEY

NOON_MS: Final = 1_790_000_000_000
_CONFLICT: Final = ConflictEvent(
    event_id="",
    table="bank.account",
    attempt=1,
    loser_run_id="loser",
    loser_operation_ids=("deposit|mon",),
    winner_run_id="winner",
    winner_operation_ids=("deposit|tue",),
    winner_snapshot_id=2,
    expected_snapshot_id=1,
    actual_snapshot_id=2,
    wasted_ms=3,
    occurred_at_ms=0,
)


def conflict(at_s: float, *, attempt: int = 1, loser: str = "loser", event_id: str | None = None) -> ConflictEvent:
    """Return a conflict that occurred so many seconds after noon."""
    return replace(
        _CONFLICT,
        event_id=event_id or f"{loser}/{at_s}/{attempt}",
        attempt=attempt,
        loser_run_id=loser,
        occurred_at_ms=NOON_MS + round(at_s * 1000),
    )


def emit(instance: dg.DagsterInstance, *conflicts: ConflictEvent) -> None:
    """Put conflicts into the event log, when they occur, as a run does."""
    for each in conflicts:
        put(instance, conflict_observation(each, TABLE_KEY), at_ms=each.occurred_at_ms)


def put(instance: dg.DagsterInstance, observation: dg.AssetObservation, *, at_ms: int) -> None:
    """Put an observation into the event log at some time."""
    event = DagsterEvent(
        event_type_value=dg.DagsterEventType.ASSET_OBSERVATION.value,
        job_name="some_job",
        event_specific_data=AssetObservationData(observation),
    )
    entry = dg.EventLogEntry(  # type: ignore[no-untyped-call]
        error_info=None,
        level=logging.INFO,
        user_message="",
        run_id="",  # Dagster's own, for what belongs to no run.
        timestamp=at_ms / 1000,
        job_name="some_job",
        dagster_event=event,
    )
    instance.handle_new_event(entry)
