"""What a benchmark is given, is, and comes to."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Series
from benchmarks.target import Target


@dataclass(frozen=True, slots=True)
class Setting:
    """How a benchmark is to be run."""

    place: Path  # an empty folder of its own
    seed: int
    is_quick: bool = False  # a smoke test: as few rounds as will do, figures of no worth
    is_long: bool = False
    is_profiled: bool = False
    say: Callable[[str], None] = print

    def chance(self) -> random.Random:
        """Return the chance of this run, always from the beginning."""
        return random.Random(self.seed)

    def rounds(self, number: int) -> int:
        """Return how many rounds to measure."""
        return min(number, 3) if self.is_quick else number

    def folder(self, name: str) -> Path:
        """Make a new folder."""
        folder = self.place / name
        folder.mkdir(parents=True)
        return folder


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured, and what is to be said of it."""

    series: tuple[Series, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark by its name."""

    name: str
    title: str
    targets: tuple[Target, ...]
    run: Callable[[Setting], Found]
    is_default: bool = True  # whether it runs when none is named


class WrongUseError(Exception):
    """What was asked for makes no sense; nothing was written."""


class WrongResultError(Exception):
    """A table does not hold what was put into it: what was measured is worth nothing."""

    def __init__(self, system: str, *, found: int, expected: int) -> None:
        super().__init__(f"{system}: the table holds {found}, not {expected} as was committed; its figures are void")


def require(system: str, found: int, expected: int) -> None:
    """Make sure of a result.

    Raises:
        WrongResultError: it is another.
    """
    if found != expected:
        raise WrongResultError(system, found=found, expected=expected)
