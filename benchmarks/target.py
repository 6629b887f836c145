"""Targets: a bound on a figure, or on its ratio to another that was measured in the same run; met or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from benchmarks.figures import Key, Series, Spread, ratio


class Side(Enum):
    """On which side of its bound a figure must be."""

    AT_MOST = "<="
    AT_LEAST = ">="


@dataclass(frozen=True, slots=True)
class Target:
    """What is to hold of a figure.

    With `to`, the figure's ratio to the best of those is judged, best being what is hardest to hold against.
    """

    code: str
    of: Key
    side: Side
    bound: float
    to: tuple[Key, ...] = ()  # empty: the figure itself is judged

    @property
    def what(self) -> str:
        """What is judged, in words."""
        said = f"{self.of}: {self.of.metric}"
        if not self.to:
            return said
        others = f"the best of {len(self.to)} of the peers" if len(self.to) > 1 else str(self.to[0])
        return f"{said}, to {others}" + ("" if self.to[0].metric == self.of.metric else f" ({self.to[0].metric})")

    @property
    def wanted(self) -> str:
        """The bound, in words."""
        return f"{self.side.value} {self.bound:g}" + ("x" if self.to else "")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A target, and what was measured of it."""

    target: Target
    measured: Spread | None  # None: it was not measured, or nothing to compare it with was
    beside: Key | None = None  # the best of several, where there was a choice

    @property
    def is_met(self) -> bool | None:
        """Whether the median keeps the bound. None: not measured."""
        if self.measured is None:
            return None
        if self.target.side is Side.AT_MOST:
            return self.measured.median <= self.target.bound
        return self.measured.median >= self.target.bound

    @property
    def word(self) -> str:
        """The verdict, in a word."""
        return {None: "not measured", True: "met", False: "NOT met"}[self.is_met]


def judge(targets: Sequence[Target], series: Sequence[Series]) -> tuple[Verdict, ...]:
    """Compare each target with what was measured; a ratio needs every one of those that it is taken to."""
    found = {each.key: each for each in series}
    return tuple(_judged(target, found) for target in targets)


def _judged(target: Target, found: Mapping[Key, Series]) -> Verdict:
    if target.of not in found or any(key not in found for key in target.to):
        return Verdict(target, None)
    of = found[target.of]
    if not target.to:
        return Verdict(target, Spread.of(of.values))
    hardest = min if target.side is Side.AT_MOST else max
    best = hardest((found[key] for key in target.to), key=lambda each: each.median)
    return Verdict(target, ratio(of, best), beside=best.key if len(target.to) > 1 else None)
