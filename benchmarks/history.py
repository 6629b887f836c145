"""B2: the same commit with 20, 200, 2,000 and 5,000 commits before it; what it reads must not grow with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from benchmarks.benchmark import Benchmark, Found, Setting
from benchmarks.figures import Key, Series, slope
from benchmarks.pyiceberg_history import textbook_history
from benchmarks.restarts import Movable, Restarts
from benchmarks.rounds import Task, interleaved
from benchmarks.systems.iceberg import TABLE, create_table, local, open_catalog
from benchmarks.systems.port import is_installed
from benchmarks.systems.raw import Raw, RawSession
from benchmarks.systems.seriatim import CommitSession, CommitWithRetry
from benchmarks.systems.textbook import Textbook, TextbookSession
from benchmarks.target import Side, Target

_POINTS: Final = (20, 200, 2_000, 5_000)
_QUICK_POINTS: Final = (5, 10)
_ROUNDS, _WARMUP = 30, 1
_TEXTBOOK_ROUNDS: Final = 3  # The commit after 2,000 takes PyIceberg many seconds.
_OURS, _FULL, _RAW = CommitWithRetry().name, "commit_with_retry, full history", "raw floor, full history"
_MS, _SLOPE = "ms", "ms more for each earlier commit"
_METADATA, _MANIFESTS, _OPEN = "metadata file, KiB", "manifests", "open files"

TARGETS: Final = (
    *(Target("B2", Key(_OURS, _MS, at), Side.AT_MOST, 1.15, (Key(_OURS, _MS, 20),)) for at in _POINTS[1:]),
    Target("B2", Key(Textbook().name, _MS, 2_000), Side.AT_LEAST, 300, (Key(_OURS, _MS, 2_000),)),
    Target("B2", Key(_FULL, _SLOPE), Side.AT_MOST, 0.02),
    Target("B2", Key(_OURS, _METADATA, 5_000), Side.AT_MOST, 1.1, (Key(_OURS, _METADATA, 200),)),
    Target("B2", Key(_OURS, _MANIFESTS, 5_000), Side.AT_MOST, 1.0, (Key(_OURS, _MANIFESTS, 200),)),
    Target("B2", Key(_OURS, _OPEN, 5_000), Side.AT_MOST, 1.0, (Key(_OURS, _OPEN, 200),)),
)


def run(setting: Setting) -> Found:
    """Make the histories, then measure the commit after each point of them in interleaved rounds."""
    points = _QUICK_POINTS if setting.is_quick else _POINTS
    setting.say(f"    {points[-1]:,} commits of our own ...")
    ours = _our_history(setting.folder("ours"), points)
    repeated = [
        _Repeated(Key(_OURS, _MS, point.at), setting.place / "ours", point.location, CommitSession, point.at)
        for point in ours
    ]
    if is_installed(Raw()):
        setting.say(f"    {points[-2]:,} commits whose history is kept in full ...")
        repeated += _full_history(setting.folder("full"), points[:-1])
    setting.say("    histories as PyIceberg's overwrite leaves them ...")
    textbook = []
    for at in points[:-1]:
        made = textbook_history(setting.folder(f"textbook-{at}"), at)
        key = Key(Textbook().name, _MS, at)
        textbook.append(_Repeated(key, made.folder, made.location, TextbookSession, made.balance))
    series = _measured(setting, repeated, rounds=setting.rounds(_ROUNDS))
    series += _measured(setting, textbook, rounds=1 if setting.is_quick else _TEXTBOOK_ROUNDS)
    return Found((*series, *_slopes(series), *_sizes(ours)), _NOTES)


_NOTES: Final = (
    "Each round makes the commit once more from that very point, on a table registered from its metadata file.",
    (
        "Our history is made by as many calls, one after another, with the default retention of 20 snapshots. The "
        "full one is written by the raw floor. PyIceberg's is its own up to the fifth commit; from there on it is "
        "continued in the same form, since 2,000 of its commits take hours."
    ),
)


@dataclass(frozen=True, slots=True)
class _Point:
    """A table after so many commits."""

    at: int
    location: str
    metadata_bytes: int
    manifests: int
    open_files: int


@dataclass(frozen=True, slots=True)
class _Repeated:
    """A commit that is to be measured from one point."""

    key: Key
    folder: Path
    location: str
    session: Callable[[Path], Movable]
    balance: int


def _our_history(folder: Path, points: Sequence[int]) -> list[_Point]:
    CommitWithRetry().create(folder)
    session, catalog, found = CommitSession(folder), open_catalog(folder), []
    for at in range(1, points[-1] + 1):
        session.increment()
        if at in points:
            table = catalog.load_table(TABLE)
            head = table.current_snapshot()
            assert head is not None
            size, manifests = local(table.metadata_location).stat().st_size, len(head.manifests(table.io))
            found.append(_Point(at, table.metadata_location, size, manifests, psutil.Process().num_fds()))
    session.close()
    catalog.engine.dispose()
    return found


class _RawInFull(RawSession):
    """The raw floor, which keeps everything."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, None)


def _full_history(folder: Path, points: Sequence[int]) -> Iterator[_Repeated]:
    """Write a history of which nothing is expired, and return our commits and the floor's on it."""
    create_table(folder, properties={"gc.enabled": "false"})
    session, catalog = _RawInFull(folder), open_catalog(folder)
    for at in range(1, points[-1] + 1):
        session.increment()
        if at in points:
            location = catalog.load_table(TABLE).metadata_location
            yield _Repeated(Key(_FULL, _MS, at), folder, location, CommitSession, at)
            yield _Repeated(Key(_RAW, _MS, at), folder, location, _RawInFull, at)
    session.close()
    catalog.engine.dispose()


def _measured(setting: Setting, repeated: Sequence[_Repeated], *, rounds: int) -> tuple[Series, ...]:
    tasks, restarts = [], []
    for each in repeated:
        restart = Restarts(each.folder, each.location, each.session(each.folder), each.balance)
        restarts.append(restart)
        tasks.append(Task(each.key, restart.increment, prepare=restart.restart))
    series = interleaved(tasks, rounds=rounds, warmup=_WARMUP, chance=setting.chance())
    for restart in restarts:
        restart.finish()
    return series


def _slopes(series: Sequence[Series]) -> Iterator[Series]:
    for name in (_OURS, _FULL, _RAW, Textbook().name):
        of_name = [each for each in series if each.key.name == name]
        if len(of_name) > 1:
            yield Series(Key(name, _SLOPE), slope(of_name[0], of_name[-1]))


def _sizes(points: Sequence[_Point]) -> Iterator[Series]:
    for point in points:
        yield Series(Key(_OURS, _METADATA, point.at), (point.metadata_bytes / 1024,))
        yield Series(Key(_OURS, _MANIFESTS, point.at), (point.manifests,))
        yield Series(Key(_OURS, _OPEN, point.at), (point.open_files,))


BENCHMARK: Final = Benchmark("history", "The same commit after many others", TARGETS, run)
