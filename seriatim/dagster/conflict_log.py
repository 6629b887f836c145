"""Conflicts as Dagster's event log has them: read from a place on, or from a time on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import dagster as dg

from seriatim.conflict_events import ConflictEvent
from seriatim.dagster.conflicts import conflict_from_observation, is_conflict
from seriatim.dagster.errors import ConflictEventError

BATCH_MAX: Final = 500
OVERLAP: Final = 1_000
_PAGE: Final = 500
_EVENTS_MAX: Final = 20_000  # of a look from a time on


@dataclass(frozen=True, slots=True)
class EventBatch:
    """What one look at the event log found: readable conflicts, unreadable events, and where to look from next."""

    conflicts: tuple[ConflictEvent, ...]
    unreadable: tuple[ConflictEventError, ...]
    cursor: int  # The storage id of the last event seen.


def read_conflicts(
    instance: dg.DagsterInstance,
    asset_key: dg.AssetKey,
    *,
    cursor: int = 0,
    batch_max: int = BATCH_MAX,
    overlap: int = OVERLAP,
) -> EventBatch:
    """Return the conflicts observed on `asset_key` after `cursor` and, once more, those in the overlap before it.

    An event that cannot be read is told when it is new, and no longer when it is in the overlap.
    """
    again = dg.AssetRecordsFilter(asset_key, after_storage_id=max(0, cursor - overlap), before_storage_id=cursor + 1)
    new = dg.AssetRecordsFilter(asset_key, after_storage_id=cursor)
    seen = instance.fetch_observations(again, limit=overlap, ascending=True).records if cursor and overlap else []
    fresh = instance.fetch_observations(new, limit=batch_max, ascending=True).records
    before, _ = _readable(seen)
    now, unreadable = _readable(fresh)
    last = fresh[-1].storage_id if fresh else cursor
    return EventBatch(tuple((before | now).values()), tuple(unreadable), cursor=last)


def conflicts_since(instance: dg.DagsterInstance, asset_key: dg.AssetKey, since_ms: int) -> tuple[ConflictEvent, ...]:
    """Return the readable conflicts that the event log was told of at `since_ms` or later, each once.

    No more than the newest 20,000 events are looked at.
    """
    # The log's bound is exclusive, and in seconds.
    records_filter = dg.AssetRecordsFilter(asset_key, after_timestamp=(since_ms - 1) / 1000)
    records: list[dg.EventLogRecord] = []
    cursor: str | None = None
    while len(records) < _EVENTS_MAX:
        page = instance.fetch_observations(records_filter, limit=_PAGE, cursor=cursor, ascending=False)
        records += page.records
        cursor = page.cursor
        if not page.has_more:
            break
    conflicts, _ = _readable(records)
    return tuple(conflicts.values())


def _readable(records: Iterable[dg.EventLogRecord]) -> tuple[dict[str, ConflictEvent], list[ConflictEventError]]:
    conflicts: dict[str, ConflictEvent] = {}
    unreadable: list[ConflictEventError] = []
    for record in records:
        observation = record.asset_observation
        if observation is None or not is_conflict(observation):
            continue
        try:
            conflict = conflict_from_observation(observation, event=f"event {record.storage_id} of run {record.run_id}")
        except ConflictEventError as bad:
            unreadable.append(bad)
            continue
        conflicts.setdefault(conflict.event_id, conflict)
    return conflicts, unreadable
