"""What the runs did, from Dagster's event log alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import dagster as dg

_PAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Measured:
    """The runs of an instance in figures.

    `in_flight_peak` is the largest number of runs that were between their start and their end at the same moment.
    """

    runs: int
    runs_failed: int
    in_flight_peak: int
    commits: int
    attempts: int
    conflicts: int
    wasted_ms: int

    @property
    def attempts_per_commit(self) -> float:
        """Attempts, also those that lost, for each commit that landed."""
        return self.attempts / self.commits if self.commits else 0.0


@dataclass(frozen=True, slots=True)
class Mirrored:
    """The runs of the mirror in figures."""

    runs: int
    commits: int
    conflicts: int


def measure_mirror(instance: dg.DagsterInstance, asset_key: dg.AssetKey) -> Mirrored:
    """Read the figures that the runs of the mirror recorded with their materializations."""
    told = [
        {name: _int(entry.value) for name, entry in record.asset_materialization.metadata.items()}
        for record in _materializations(instance, asset_key)
        if record.asset_materialization
    ]
    return Mirrored(len(told), sum(each["commits"] for each in told), sum(each["conflicts"] for each in told))


def measure(instance: dg.DagsterInstance, asset_keys: Iterable[dg.AssetKey]) -> Measured:
    """Count the instance's runs and read the figures that they recorded with their materializations."""
    records = instance.get_run_records()
    figures: dict[str, dict[str, int]] = {}
    for key in asset_keys:
        for event in _materializations(instance, key):
            if event.asset_materialization:
                figures[event.run_id] = _numbers(event.asset_materialization)
    return Measured(
        runs=len(records),
        runs_failed=sum(record.dagster_run.status != dg.DagsterRunStatus.SUCCESS for record in records),
        in_flight_peak=peak([(record.start_time, record.end_time) for record in records]),
        commits=sum(each["committed"] for each in figures.values()),
        attempts=sum(each["attempts"] for each in figures.values()),
        conflicts=sum(each["conflicts"] for each in figures.values()),
        wasted_ms=sum(each["wasted_ms"] for each in figures.values()),
    )


def peak(spans: Iterable[tuple[float | None, float | None]]) -> int:
    """Return how many of the spans overlap at most; a span that has no start or no end does not count."""
    known = [(start, end) for start, end in spans if start is not None and end is not None]
    changes = sorted([(start, 1) for start, _ in known] + [(end, -1) for _, end in known])
    running = highest = 0
    for _, change in changes:  # At the same moment an end (-1) sorts before a start: touching is not overlapping.
        running += change
        highest = max(highest, running)
    return highest


def _materializations(instance: dg.DagsterInstance, key: dg.AssetKey) -> Iterator[dg.EventLogRecord]:
    page = instance.fetch_materializations(key, limit=_PAGE)
    yield from page.records
    while page.has_more:
        page = instance.fetch_materializations(key, limit=_PAGE, cursor=page.cursor)
        yield from page.records


def _numbers(event: dg.AssetMaterialization) -> dict[str, int]:
    values = {name: entry.value for name, entry in event.metadata.items()}
    numbers = {name: _int(values.get(name)) for name in ("attempts", "conflicts", "wasted_ms")}
    return {**numbers, "committed": int(str(values.get("committed_snapshot_id", "none")).isdigit())}


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0
