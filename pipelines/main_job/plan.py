"""Which runs the main job launches: one kind and one month of daily partitions each, in the order of the months."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from assets.transactions import Transactions

RUNS_MIN = 8  # Fewer runs than this would hardly overlap: a small file is cut into days instead of months.


@dataclass(frozen=True, slots=True)
class Posting:
    """One run: the daily partitions from `first_day` to `last_day` of one kind's asset.

    A run of the opening party meets the others of it between its first read and its first write, so that all of them
    are in flight at once and all but one conflict.
    """

    kind: str
    first_day: date
    last_day: date
    is_of_opening_party: bool = False

    @property
    def label(self) -> str:
        """How a person tells this run from the others."""
        days = f"{self.first_day}" if self.first_day == self.last_day else f"{self.first_day}...{self.last_day}"
        return f"{self.kind} {days}"


def plan(transactions: Transactions, *, party: int) -> tuple[Posting, ...]:
    """Return the runs that post every transaction once; the first `party` of them, of as many kinds, meet."""
    days_of: dict[str, list[date]] = {kind.name: [] for kind in transactions.kinds()}
    for row in transactions.table.group_by(["kind", "date"]).aggregate([]).to_pylist():
        days_of[row["kind"]].append(row["date"])
    days = transactions.days()
    runs = _runs(days_of, _months(days))
    if len(runs) < RUNS_MIN:
        runs = _runs(days_of, [(day, day) for day in days])
    return tuple(_with_opening_party(runs, party))


def _runs(days_of: Mapping[str, Sequence[date]], spans: Sequence[tuple[date, date]]) -> list[Posting]:
    return [
        Posting(kind, first, last)
        for first, last in spans
        for kind, days in days_of.items()
        if any(first <= day <= last for day in days)
    ]


def _with_opening_party(runs: Sequence[Posting], party: int) -> Iterable[Posting]:
    """Move one run each of the first `party` kinds to the front and let them meet."""
    first_of = {run.kind: run for run in reversed(runs)}
    members = sorted(first_of.values(), key=lambda run: (run.first_day, runs.index(run)))[:party]
    if len(members) < 2:
        return runs
    return [replace(run, is_of_opening_party=True) for run in members] + [run for run in runs if run not in members]


def _months(days: Sequence[date]) -> list[tuple[date, date]]:
    """Return the calendar months that the days lie in, without the days before the first and after the last."""
    months = sorted({(day.year, day.month) for day in days})
    return [
        (max(date(year, month, 1), days[0]), min(date(year, month, monthrange(year, month)[1]), days[-1]))
        for year, month in months
    ]
