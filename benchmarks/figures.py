"""Figures: what was measured in each round, and what rounds come to."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Key(NamedTuple):
    """What a series is of."""

    name: str  # the system, and how it was used
    metric: str  # with its unit
    at: int | None = None  # the place on a curve; None: it is no point of one

    def __str__(self) -> str:
        """Return it as a report says it."""
        return self.name if self.at is None else f"{self.name} at {self.at:,}"


@dataclass(frozen=True, slots=True)
class Series:
    """One value for each round."""

    key: Key
    values: tuple[float, ...]
    cpu: tuple[float, ...] = ()  # CPU time of the same rounds, in the same unit; empty: not measured

    @property
    def median(self) -> float:
        """The value in the middle."""
        return statistics.median(self.values)


@dataclass(frozen=True, slots=True)
class Spread:
    """The median, and the quartiles around it."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Sort and count; a single value has no width."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(low, median, high)


def ratio(of: Series, to: Series) -> Spread:
    """Return the ratio of the medians, between the quartiles of the ratios round by round.

    Where the two have not the same number of rounds, each value of the first is compared with the median of the other.
    """
    median = _divided(of.median, to.median)
    others = to.values if len(to.values) == len(of.values) else (to.median,) * len(of.values)
    pairs = Spread.of([_divided(value, other) for value, other in zip(of.values, others, strict=True)])
    return Spread(min(pairs.low, median), median, max(pairs.high, median))


def slope(first: Series, last: Series) -> tuple[float, ...]:
    """Return by how much the values grow for each step of `at`, round by round."""
    assert first.key.at is not None
    assert last.key.at is not None
    steps = last.key.at - first.key.at
    return tuple((late - early) / steps for early, late in zip(first.values, last.values, strict=True))


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which this share of the others lies, the nearest one that is there."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _divided(value: float, by: float) -> float:
    if by == 0:
        return 1.0 if value == 0 else math.inf
    return value / by
