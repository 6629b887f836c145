"""What the processes' logs say, in figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soak.load import Course, Settings
from soak.place import Place


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation that has ended."""

    kind: str
    at_s: float  # its end, since the beginning
    latency_s: float  # of the call that ended it
    attempts: int
    rebases: int
    is_noop: bool


@dataclass(frozen=True, slots=True)
class Percentiles:
    """How long calls took, in milliseconds."""

    calls: int
    p50: float
    p95: float
    p99: float
    highest: float

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Percentiles:
        """Count and sort."""
        values = [each * 1000 for each in seconds]
        if not values:
            return cls(0, 0.0, 0.0, 0.0, 0.0)
        p50, p95, p99 = (float(each) for each in np.percentile(values, [50, 95, 99]))
        return cls(len(values), p50, p95, p99, max(values))


@dataclass(frozen=True, slots=True)
class Figures:
    """All that the logs say."""

    operations: tuple[Operation, ...]
    errors: Counter[str]
    upkeep: tuple[dict[str, Any], ...]

    @property
    def applied(self) -> list[Operation]:
        """Those whose call has written; the others found that an earlier call had."""
        return [each for each in self.operations if not each.is_noop]

    @property
    def attempts_per_commit(self) -> float:
        """Attempts, also those that lost, for each commit that landed."""
        return sum(each.attempts for each in self.operations) / max(1, len(self.applied))


def figures(place: Place, settings: Settings, course: Course) -> Figures:
    """Read the logs."""
    operations: list[Operation] = []
    errors: Counter[str] = Counter()
    for writer in range(settings.writers):
        for entry in place.log(f"writer-{writer}").read():
            if "error" in entry:
                errors[entry["error"]] += 1
            elif "attempts" in entry:
                operations.append(
                    Operation(
                        kind=entry["kind"],
                        at_s=entry["ended_s"] - course.begun_s,
                        latency_s=entry["latency_s"],
                        attempts=entry["attempts"],
                        rebases=entry["rebases"],
                        is_noop=entry["is_noop"],
                    )
                )
    operations.sort(key=lambda each: each.at_s)
    return Figures(tuple(operations), errors, tuple(place.log("upkeep").read()))


def windows(operations: Sequence[Operation], width_s: float) -> list[tuple[float, list[Operation]]]:
    """Return the operations of each stretch of time, with its middle."""
    found: dict[int, list[Operation]] = {}
    for each in operations:
        found.setdefault(int(each.at_s // width_s), []).append(each)
    return [((number + 0.5) * width_s, found[number]) for number in sorted(found)]
