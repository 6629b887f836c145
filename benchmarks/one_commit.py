"""B1: one uncontended read-modify-write of a table of one row, with twenty commits or more before it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from benchmarks.benchmark import Benchmark, Found, Setting, require
from benchmarks.figures import Key
from benchmarks.restarts import Restarts, head_of
from benchmarks.rounds import Task, interleaved
from benchmarks.systems.catalogue import installed, of_one_commit
from benchmarks.systems.port import System
from benchmarks.systems.textbook import Textbook, TextbookSession
from benchmarks.target import Side, Target

_EARLIER: Final = 20
_ROUNDS, _WARMUP = 100, 5
_OURS: Final = ("commit_with_retry", "apply")


def _key(name: str) -> Key:
    return Key(name, "ms")


TARGETS: Final = tuple(
    Target("B1", _key(ours), side, bound, (_key(other),))
    for ours in _OURS
    for other, side, bound in (
        ("delta-rs, opened anew", Side.AT_MOST, 1.0),
        ("DuckLake", Side.AT_MOST, 0.6),
        ("raw floor", Side.AT_MOST, 2.5),
    )
) + tuple(Target("B1", _key(Textbook().name), Side.AT_LEAST, 8.0, (_key(ours),)) for ours in _OURS)


def run(setting: Setting) -> Found:
    """Measure every system that is installed."""
    systems, notes = installed(of_one_commit())
    open_ones = [_Running(system, setting.folder(system.name.replace(" ", "-"))) for system in systems]
    textbook = _textbook(setting.folder("textbook"))
    tasks = [
        *(Task(_key(each.system.name), each.increment) for each in open_ones),
        Task(_key(Textbook().name), textbook.increment, prepare=textbook.restart),
    ]
    series = interleaved(tasks, rounds=setting.rounds(_ROUNDS), warmup=_WARMUP, chance=setting.chance())
    for each in open_ones:
        each.finish()
    textbook.finish()
    return Found(series, (*notes, *_NOTES))


def _textbook(folder: Path) -> Restarts:
    """Return what makes the same commit of PyIceberg's again and again."""
    Textbook().create(folder)
    session = TextbookSession(folder)
    for _ in range(_EARLIER):
        session.increment()
    return Restarts(folder, head_of(folder), session, _EARLIER)


_NOTES: Final = (
    (
        f"Every system but PyIceberg goes on with its table: {_EARLIER} commits before the first that counts. "
        f"PyIceberg, whose commits grow slower, makes commit {_EARLIER + 1} every time."
    ),
    "Of delta-rs, the handle that is kept reads what others committed since by itself; DuckLake's connection is kept.",
)


class _Running:
    """A system with a table that has some commits, and how many it must have in the end."""

    def __init__(self, system: System, folder: Path) -> None:
        system.create(folder)
        self.system, self._session, self._commits = system, system.session(folder), 0
        for _ in range(_EARLIER):
            self.increment()

    def increment(self) -> None:
        self._session.increment()
        self._commits += 1

    def finish(self) -> None:
        require(self.system.name, self._session.read(), self._commits)
        self._session.close()


BENCHMARK: Final = Benchmark("one_commit", "One read-modify-write of one row", TARGETS, run)
