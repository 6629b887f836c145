"""Series, and a system that loses what it was given, for tests of the benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.benchmark import Benchmark, Found, Setting
from benchmarks.figures import Key, Series
from benchmarks.results import Outcome, Results
from benchmarks.systems.port import Spent
from benchmarks.target import Side, Target

OURS, PEER, FLOOR = Key("ours", "ms"), Key("peer", "ms"), Key("floor", "ms")
TARGETS = (
    Target("T1", OURS, Side.AT_MOST, 1.0, (PEER,)),
    Target("T2", OURS, Side.AT_MOST, 2.5, (FLOOR,)),
    Target("T3", Key("ours", "commits/s"), Side.AT_LEAST, 10),
)


def series(key: Key, *values: float) -> Series:
    """Return a series, whose CPU time is half of it."""
    return Series(key, values, tuple(value / 2 for value in values))


def benchmark() -> Benchmark:
    """Return one that finds the same each time."""

    def run(setting: Setting) -> Found:
        del setting
        return Found((series(OURS, 8, 10, 12), series(PEER, 20, 20, 20)), ("A note.",))

    return Benchmark("one", "One thing", TARGETS, run)


def results(*values: float) -> Results:
    """Return what a run found: ours with these values, and a peer with twenty."""
    found = Found((series(OURS, *values), series(PEER, *[20.0] * len(values))), ("A note.",))
    return Results({"cores": "2"}, 7, False, (Outcome("one", found, "2026-11-30 12:00 UTC", 0.1, 1.9, 3.0),))


@dataclass(frozen=True, slots=True)
class Forgetful:
    """A system whose table holds one increment less than it said it had committed."""

    name: str = "forgetful"
    requires: tuple[str, ...] = ()

    def create(self, folder: Path) -> None:
        (folder / "log").touch()

    def session(self, folder: Path, worker: int = 0) -> ForgetfulSession:
        del worker
        return ForgetfulSession(folder / "log")

    def orphans(self, folder: Path, commits: int) -> int | None:
        del folder, commits
        return None


class ForgetfulSession:
    """A file that is longer by a byte for each increment."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def increment(self) -> Spent:
        with self._path.open("a") as file:
            file.write(".")
        return Spent()

    def read(self) -> int:
        return max(0, self._path.stat().st_size - 1)

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Failing(Forgetful):
    """A system that cannot be opened."""

    def session(self, folder: Path, worker: int = 0) -> ForgetfulSession:
        raise OSError(f"{folder.name} is not there, worker {worker}")
