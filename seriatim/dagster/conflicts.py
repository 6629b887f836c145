"""A conflict as a Dagster event: emitted by the run that lost, read back by the sensor that records it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import dagster as dg

from seriatim.commit import Conflict
from seriatim.conflict_events import ConflictEvent
from seriatim.dagster.errors import ConflictEventError

if TYPE_CHECKING:
    from seriatim.commit import Event

EVENT: Final = "seriatim/event"
CONFLICT: Final = "conflict"

_TEMPORARY_HOME: Final = ".tmp_dagster_home_"  # Dagster keeps this prefix fixed, for .gitignore files.
_NO_SNAPSHOT: Final = "none"
_INT64: Final = 2**63
_SECONDS_MAX: Final = _INT64 // 1_000_000  # The table counts microseconds.
_Default = TypeVar("_Default")


class RunningStep(Protocol):
    """What is asked of the context of an asset that runs."""

    @property
    def run(self) -> dg.DagsterRun:
        """The run that the step is a part of."""
        ...

    @property
    def instance(self) -> dg.DagsterInstance:
        """Where its events go."""
        ...

    @property
    def log(self) -> dg.DagsterLogManager:
        """The run's log."""
        ...

    def log_event(self, event: dg.AssetObservation) -> None:
        """Make an event known at once."""
        ...


class ConflictReporter:
    """An observer that emits each conflict as an observation of the table's asset, before the next attempt begins.

    At once, because a run that dies later materializes nothing. Without `DAGSTER_HOME` the event log goes when Dagster
    ends, so that no sensor can read it afterwards; the run's log then says so.
    """

    def __init__(self, step: RunningStep, asset_key: dg.AssetKey) -> None:
        """Report what the run of a step meets on the table that `asset_key` stands for."""
        self._step, self._asset_key, self._run_id = step, asset_key, step.run.run_id
        if _is_temporary(step.instance):
            step.log.warning(
                "DAGSTER_HOME is not set, so the event log is a temporary one: afterwards, the conflicts of this run "
                "are only in its output."
            )

    def notify(self, event: Event) -> None:
        """Emit a conflict and say it in the run's log; other events are none of the event log's business."""
        if not isinstance(event, Conflict):
            return
        lost = ConflictEvent.of(event, run_id=self._run_id)
        self._step.log_event(conflict_observation(lost, self._asset_key))
        self._step.log.info(_sentence(lost))


def conflict_observation(event: ConflictEvent, asset_key: dg.AssetKey) -> dg.AssetObservation:
    """Return the event as an observation of `asset_key`; snapshot ids are text, since the UI's numbers have 53 bits."""
    metadata: dict[str, dg.MetadataValue[Any]] = {
        EVENT: dg.MetadataValue.text(CONFLICT),
        "event_id": dg.MetadataValue.text(event.event_id),
        "table": dg.MetadataValue.text(event.table),
        "attempt": dg.MetadataValue.int(event.attempt),
        "loser_run_id": dg.MetadataValue.dagster_run(event.loser_run_id),
        "loser_operation_ids": dg.MetadataValue.json(list(event.loser_operation_ids)),
        "winner_operation_ids": dg.MetadataValue.json(list(event.winner_operation_ids)),
        "winner_snapshot_id": snapshot_text(event.winner_snapshot_id),
        "expected_snapshot_id": snapshot_text(event.expected_snapshot_id),
        "actual_snapshot_id": snapshot_text(event.actual_snapshot_id),
        "wasted_ms": dg.MetadataValue.int(event.wasted_ms),
        "occurred_at": dg.MetadataValue.timestamp(event.occurred_at_ms / 1000),
    }
    if event.winner_run_id is not None:
        metadata["winner_run_id"] = dg.MetadataValue.dagster_run(event.winner_run_id)
    return dg.AssetObservation(asset_key=asset_key, description=_sentence(event), metadata=metadata)


def is_conflict(observation: dg.AssetObservation) -> bool:
    """Whether the observation says that it is a conflict; others may observe the same asset for their own ends."""
    mark = observation.metadata.get(EVENT)
    return mark is not None and mark.value == CONFLICT


def conflict_from_observation(observation: dg.AssetObservation, *, event: str = "the observation") -> ConflictEvent:
    """Read a conflict back; `event` is how an error names the observation.

    Raises:
        ConflictEventError: it is not marked as a conflict, or a field is missing or of another type.
    """
    fields = _Fields(observation.metadata)
    if not is_conflict(observation):
        raise ConflictEventError(event, problems=[f"{EVENT} is not {CONFLICT!r}"])
    conflict = ConflictEvent(
        event_id=fields.text("event_id"),
        table=fields.text("table"),
        attempt=fields.whole("attempt"),
        loser_run_id=fields.text("loser_run_id"),
        loser_operation_ids=fields.texts("loser_operation_ids"),
        winner_run_id=fields.text("winner_run_id") if "winner_run_id" in observation.metadata else None,
        winner_operation_ids=fields.texts("winner_operation_ids"),
        winner_snapshot_id=fields.snapshot("winner_snapshot_id"),
        expected_snapshot_id=fields.snapshot("expected_snapshot_id"),
        actual_snapshot_id=fields.snapshot("actual_snapshot_id"),
        wasted_ms=fields.whole("wasted_ms"),
        occurred_at_ms=fields.milliseconds("occurred_at"),
    )
    if fields.problems:
        raise ConflictEventError(event, problems=fields.problems)
    return conflict


def snapshot_text(snapshot_id: int | None) -> dg.TextMetadataValue:
    """Return a snapshot id in the form in which metadata shows it."""
    return dg.MetadataValue.text(_NO_SNAPSHOT if snapshot_id is None else str(snapshot_id))


class _Fields:
    """The metadata of one event; what does not fit is noted in `problems`, so that all of it is told at once."""

    def __init__(self, metadata: Mapping[str, dg.MetadataValue[Any]]) -> None:
        self.problems: list[str] = []
        self._values: dict[str, object] = {name: entry.value for name, entry in metadata.items()}

    def text(self, name: str) -> str:
        value = self._values.get(name)
        return value if isinstance(value, str) and value else self._refuse(name, "a text", default="")

    def whole(self, name: str) -> int:
        value = self._values.get(name)
        is_whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _INT64
        return value if isinstance(value, int) and is_whole else self._refuse(name, "a whole number", default=0)

    def milliseconds(self, name: str) -> int:
        value = self._values.get(name)
        is_time = isinstance(value, float) and 0 <= value < _SECONDS_MAX
        return round(value * 1000) if isinstance(value, float) and is_time else self._refuse(name, "a time", default=0)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._values.get(name)
        if isinstance(value, list | tuple) and all(isinstance(text, str) for text in value):
            return tuple(str(text) for text in value)
        return self._refuse(name, "a list of texts", default=())

    def snapshot(self, name: str) -> int | None:
        value = self._values.get(name)
        if value == _NO_SNAPSHOT:
            return None
        is_id = isinstance(value, str) and value.isascii() and value.isdigit() and int(value) < _INT64
        return int(value) if isinstance(value, str) and is_id else self._refuse(name, "a snapshot id", default=0)

    def _refuse(self, name: str, wanted: str, *, default: _Default) -> _Default:
        found = f"{self._values[name]!r}" if name in self._values else "missing"
        self.problems.append(f"{name} should be {wanted}, but is {found:.200}")
        return default


def _is_temporary(instance: dg.DagsterInstance) -> bool:
    """Whether the instance is one of memory, or of the folder that Dagster's commands make for want of a home."""
    return instance.is_ephemeral or Path(instance.root_directory).name.startswith(_TEMPORARY_HOME)


def _sentence(event: ConflictEvent) -> str:
    winner = f"run {event.winner_run_id}" if event.winner_run_id else "a commit that names no run"
    what = ", ".join(event.winner_operation_ids)
    return (
        f"{event.table}: attempt {event.attempt} lost to {winner}{f' ({what:.200})' if what else ''}; computed from "
        f"snapshot {event.expected_snapshot_id}, met {event.actual_snapshot_id}, {event.wasted_ms} ms wasted."
    )
