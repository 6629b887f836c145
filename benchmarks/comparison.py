"""A run against the stored baseline, target by target."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from benchmarks.benchmark import WrongUseError
from benchmarks.figures import Spread
from benchmarks.target import Side, Target, Verdict

BASELINE: Final = Path(__file__).with_name("baseline.json")
_NOISE: Final = 0.05  # What two runs of the same code differ by, though the rounds of each agree.


class Trend(Enum):
    """What became of a figure."""

    BETTER = "better"
    SAME = "within the spread"
    WORSE = "REGRESSED"
    NEW = "not in the baseline"


@dataclass(frozen=True, slots=True)
class Compared:
    """What was measured of a target, and what stands in the baseline."""

    target: Target
    now: Spread
    before: Spread | None  # None: the baseline has none

    @property
    def trend(self) -> Trend:
        """Whether the figure has moved by more than both spreads and some noise."""
        if self.before is None:
            return Trend.NEW
        if self.now.low > self.before.high + _NOISE * abs(self.before.median):
            return Trend.WORSE if self.target.side is Side.AT_MOST else Trend.BETTER
        if self.now.high < self.before.low - _NOISE * abs(self.before.median):
            return Trend.BETTER if self.target.side is Side.AT_MOST else Trend.WORSE
        return Trend.SAME


def compare(verdicts: Sequence[Verdict], baseline: Mapping[str, Spread]) -> tuple[Compared, ...]:
    """Compare what was measured; targets that were not are left out."""
    return tuple(
        Compared(each.target, each.measured, baseline.get(_name(each.target)))
        for each in verdicts
        if each.measured is not None
    )


def save_baseline(verdicts: Sequence[Verdict], machine: Mapping[str, str], path: Path) -> None:
    """Store what was measured; what was not keeps the figure that it had."""
    stored = {name: _fields(spread) for name, spread in (load_baseline(path) if path.exists() else {}).items()}
    stored |= {_name(each.target): _fields(each.measured) for each in verdicts if each.measured is not None}
    text = json.dumps({"machine": dict(machine), "targets": dict(sorted(stored.items()))}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def differences(machine: Mapping[str, str], path: Path) -> tuple[str, ...]:
    """Return in what the machine of the baseline, or its packages, were others: ratios may differ by that alone."""
    stored: Mapping[str, str] = json.loads(path.read_text(encoding="utf-8"))["machine"]
    names = dict.fromkeys((*stored, *machine))
    return tuple(
        f"{name}: {stored.get(name, '-')}, now {machine.get(name, '-')}"
        for name in names
        if stored.get(name) != machine.get(name)
    )


def load_baseline(path: Path) -> Mapping[str, Spread]:
    """Read what was stored.

    Raises:
        WrongUseError: nothing was.
    """
    if not path.exists():
        raise WrongUseError(f"there is no {path}, and nothing to compare with; --save-baseline makes it")
    fields = json.loads(path.read_text(encoding="utf-8"))
    return {name: Spread(*spread) for name, spread in fields["targets"].items()}


def _name(target: Target) -> str:
    return f"{target.code} {target.what}"


def _fields(spread: Spread) -> Sequence[float]:
    return [float(f"{value:.4g}") for value in (spread.low, spread.median, spread.high)]
