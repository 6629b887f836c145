"""B5: eight writers of one table, each with rows that nobody else changes: rebased, and not computed again."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from benchmarks.benchmark import Benchmark, Found, Setting
from benchmarks.crew import Crew, Shift, work
from benchmarks.figures import Key, Series
from benchmarks.systems.seriatim import BUCKETS, BUCKETS_OF_EACH, Apply
from benchmarks.target import Side, Target

_ROUNDS: Final = 9
_ALONE: Final = Crew(processes=1, threads=1, increments=100)
_TOGETHER: Final = Crew(processes=BUCKETS // BUCKETS_OF_EACH, threads=1, increments=25)
_RATE, _COMPUTED, _ATTEMPTS = "commits/s", "computations per commit", "attempts per commit"
_ONE_ROW: Final = Key("apply on one row, alone", _RATE)
_CASES: Final = {
    _ONE_ROW.name: (Apply(), _ALONE),
    f"apply on {BUCKETS} partitions, alone": (Apply(is_disjoint=True), _ALONE),
    "8 processes with turnstile": (Apply(is_disjoint=True), _TOGETHER),
    "8 processes without turnstile": (Apply(is_disjoint=True, has_turnstile=False), _TOGETHER),
}

TARGETS: Final = tuple(
    target
    for name in ("8 processes with turnstile", "8 processes without turnstile")
    for target in (
        Target("B5", Key(name, _COMPUTED), Side.AT_MOST, 1.0),
        Target("B5", Key(name, _RATE), Side.AT_LEAST, 0.9, (_ONE_ROW,)),
    )
)


def run(setting: Setting) -> Found:
    """Let each case have its turn in each round."""
    shifts: dict[str, list[Shift]] = {name: [] for name in _CASES}
    chance = setting.chance()
    for number in range(1 if setting.is_quick else _ROUNDS):
        for name in chance.sample(list(_CASES), len(_CASES)):
            system, crew = _CASES[name]
            folder = setting.folder(f"{number}-{name}".replace(" ", "-"))
            shift = work(system, folder, _quick(crew) if setting.is_quick else crew)
            setting.say(f"    {name}: {shift.commits / shift.wall_s:.0f} commits/s")
            shifts[name].append(shift)
    series = []
    for name, found in shifts.items():
        series.append(Series(Key(name, _RATE), tuple(each.commits / each.wall_s for each in found)))
        series.append(Series(Key(name, _COMPUTED), tuple(each.computations_per_commit for each in found)))
        series.append(Series(Key(name, _ATTEMPTS), tuple(each.attempts_per_commit for each in found)))
    return Found(tuple(series), (f"{BUCKETS} rows, each in a partition of its own; every worker has 8 of them.",))


def _quick(crew: Crew) -> Crew:
    return replace(crew, processes=min(2, crew.processes), increments=3)


BENCHMARK: Final = Benchmark("disjoint", "Eight writers of rows of their own", TARGETS, run)
