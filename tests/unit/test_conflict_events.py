"""A conflict as an observation, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import dagster as dg
import pytest

from seriatim.commit import Conflict, Winner
from seriatim.dagster import ConflictEvent, ConflictEventError, conflict_from_observation, conflict_observation

KEY = dg.AssetKey(["bank", "account"])
CONFLICT = Conflict(
    event_id="e1",
    table="bank.account",
    operation_ids=("bank/loan|1993-01-01", "bank/loan|1993-01-02"),
    attempt=2,
    expected_snapshot_id=2**63 - 1,
    actual_snapshot_id=9_007_199_254_740_993,  # 2 ** 53 + 1, which a float cannot hold.
    winner=Winner(snapshot_id=9_007_199_254_740_995, operation_ids=("bank/pension|1993-01-01",), run_id="winner"),
    wasted_s=0.1234,
    occurred_at_ms=1_795_993_301_402,
)


@pytest.mark.parametrize(
    "conflict",
    [
        CONFLICT,
        replace(CONFLICT, winner=None),
        replace(CONFLICT, expected_snapshot_id=None, operation_ids=()),
        replace(CONFLICT, winner=Winner(snapshot_id=5, operation_ids=(), run_id=None), actual_snapshot_id=None),
    ],
    ids=["full", "no winner", "empty base", "foreign winner"],
)
def test_what_is_emitted_is_what_is_read(conflict: Conflict) -> None:
    """No field is lost or rounded on the way through Dagster's own serialization."""
    event = ConflictEvent.of(conflict, run_id="loser")
    stored = dg.serialize_value(conflict_observation(event, KEY))

    assert conflict_from_observation(dg.deserialize_value(stored, dg.AssetObservation)) == event


def test_a_conflict_keeps_all_that_the_core_tells() -> None:
    """Both runs, both operations, three snapshots, the attempt and the time."""
    event = ConflictEvent.of(CONFLICT, run_id="loser")

    assert event == ConflictEvent(
        event_id="e1",
        table="bank.account",
        attempt=2,
        loser_run_id="loser",
        loser_operation_ids=("bank/loan|1993-01-01", "bank/loan|1993-01-02"),
        winner_run_id="winner",
        winner_operation_ids=("bank/pension|1993-01-01",),
        winner_snapshot_id=9_007_199_254_740_995,
        expected_snapshot_id=2**63 - 1,
        actual_snapshot_id=9_007_199_254_740_993,
        wasted_ms=123,
        occurred_at_ms=1_795_993_301_402,
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("event_id", None),
        ("event_id", dg.MetadataValue.int(7)),
        ("attempt", dg.MetadataValue.text("2")),
        ("attempt", dg.MetadataValue.bool(True)),
        ("wasted_ms", dg.MetadataValue.int(-1)),
        ("loser_operation_ids", dg.MetadataValue.json({"not": "a list"})),
        ("loser_operation_ids", dg.MetadataValue.json([1])),
        ("expected_snapshot_id", dg.MetadataValue.int(7)),
        ("expected_snapshot_id", dg.MetadataValue.text("-7")),
        ("expected_snapshot_id", dg.MetadataValue.text(str(2**63))),
        ("occurred_at", dg.MetadataValue.timestamp(1e15)),
        ("occurred_at", dg.MetadataValue.text("yesterday")),
        ("seriatim/event", dg.MetadataValue.text("something else")),
    ],
)
def test_an_event_that_cannot_be_read_is_refused_by_field(field: str, value: dg.MetadataValue[Any] | None) -> None:
    """A guess would be recorded for ever."""
    good = conflict_observation(ConflictEvent.of(CONFLICT, run_id="loser"), KEY)
    metadata = {name: entry for name, entry in good.metadata.items() if name != field}
    if value is not None:
        metadata[field] = value
    bad = dg.AssetObservation(KEY, metadata=metadata)

    with pytest.raises(ConflictEventError) as refused:
        conflict_from_observation(bad, event="event 17")

    assert refused.value.event == "event 17"
    assert len(refused.value.problems) == 1
    assert field in refused.value.problems[0]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    """An event of another program lacks more than one field."""
    with pytest.raises(ConflictEventError) as refused:
        conflict_from_observation(dg.AssetObservation(KEY, metadata={"seriatim/event": "conflict"}))

    assert len(refused.value.problems) == 11
