"""B3 and B4: sixteen writers of one row, in processes and in threads, beside one writer alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.benchmark import Benchmark, Found, Setting
from benchmarks.crew import CAP_S, WARM_UPS, Crew, Shift, work
from benchmarks.figures import Key, Series, percentile
from benchmarks.systems.catalogue import installed, of_contention
from benchmarks.systems.port import System
from benchmarks.target import Side, Target

_WORKERS: Final = 16
_INCREMENTS: Final = 25
_CREWS: Final = {
    "16 processes": Crew(processes=_WORKERS, threads=1, increments=_INCREMENTS),
    "16 threads": Crew(processes=1, threads=_WORKERS, increments=_INCREMENTS),
    "alone": Crew(processes=1, threads=1, increments=100),
}
_ROUNDS: Final = 7
_ROUNDS_OF_PEERS: Final = {"16 processes": 3, "16 threads": 2, "alone": 0}  # Of the peers alone, one_commit tells.
_QUICK: Final = {
    "16 processes": Crew(processes=2, threads=1, increments=3),
    "16 threads": Crew(processes=1, threads=2, increments=3),
    "alone": Crew(processes=1, threads=1, increments=3),
}
_RATE, _ATTEMPTS, _P50, _P95, _ORPHANS = "commits/s", "attempts per commit", "p50 ms", "p95 ms", "orphan data files"
_TURNSTILE: Final = ("apply with turnstile", "commit_with_retry with turnstile")
_OPTIMISTIC: Final = "apply without turnstile"
_RELAYS: Final = ("raw floor in a relay", "apply in a relay")
_PEERS: Final = ("delta-rs", "DuckLake")


def _targets(code: str, crew: str) -> Iterator[Target]:
    def key(name: str, metric: str) -> Key:
        return Key(f"{name}, {crew}", metric)

    jittered = tuple(key(f"{peer} with full jitter", _RATE) for peer in _PEERS)
    locked = tuple(key(f"{peer} with a file lock", _RATE) for peer in _PEERS)
    for name in _TURNSTILE:
        alone = f"{name}, alone"
        yield Target(code, key(name, _RATE), Side.AT_LEAST, 1.5, (*jittered, *locked))
        yield Target(code, key(name, _RATE), Side.AT_LEAST, 0.9, (Key(alone, _RATE),))
        yield Target(code, key(name, _ATTEMPTS), Side.AT_MOST, 1.02)
        yield Target(code, key(name, _P95), Side.AT_MOST, 1.3 * _WORKERS, (Key(alone, _P50),))
        yield Target(code, key(name, _ORPHANS), Side.AT_MOST, 0)
    yield Target(f"{code}b", key(_OPTIMISTIC, _ATTEMPTS), Side.AT_MOST, 2.5)
    yield Target(f"{code}b", key(_OPTIMISTIC, _RATE), Side.AT_LEAST, 1.0, jittered)


TARGETS: Final = (*_targets("B3", "16 processes"), *_targets("B4", "16 threads"))


def run(setting: Setting) -> Found:
    """Measure every system that is installed, in rounds, with each crew."""
    systems, notes = installed(of_contention())
    shifts: dict[tuple[str, str], list[Shift]] = {}
    chance = setting.chance()
    for number in range(1 if setting.is_quick else _ROUNDS):
        turns = [(system, crew) for crew in _CREWS for system in systems if number < _rounds(system, crew)]
        for system, crew in chance.sample(turns, len(turns)):
            folder = setting.folder(f"{number}-{crew}-{system.name}".replace(" ", "-"))
            shift = work(system, folder, (_QUICK if setting.is_quick else _CREWS)[crew])
            setting.say(f"    {system.name}, {crew}: {shift.commits / shift.wall_s:.0f} commits/s")
            shifts.setdefault((system.name, crew), []).append(shift)
    series = [each for (name, crew), found in sorted(shifts.items()) for each in _series(f"{name}, {crew}", found)]
    return Found(tuple(series), (*notes, *_NOTES))


def _rounds(system: System, crew: str) -> int:
    """Return how often a crew works on a system: more often where what is compared differs by little."""
    return _ROUNDS if system.name in (*_TURNSTILE, _OPTIMISTIC, *_RELAYS) else _ROUNDS_OF_PEERS[crew]


_NOTES: Final = (
    (
        f"Each of {_WORKERS} workers makes {_INCREMENTS} increments; the table must then hold their sum. Latencies "
        f"are of whole calls, waiting included. A worker stops after {CAP_S:g} s, done or not. Processes are forked "
        f"from one that has imported everything, and each worker makes {WARM_UPS} increments before the clock starts."
    ),
    (
        "The lock is a blocking flock(2), for which the kernel lets processes and threads queue; full jitter begins "
        "with up to 10 ms. Conflicts of DuckLake on SQLite include a busy database."
    ),
    (
        "In a relay the writers are in a ring of pipes, each woken by the one before: what that is to the rate alone "
        "is what a fair turnstile that costs nothing could reach on this machine."
    ),
)


def _series(name: str, shifts: Sequence[Shift]) -> Iterator[Series]:
    def series(metric: str, values: Sequence[float]) -> Series:
        return Series(Key(name, metric), tuple(values))

    yield series(_RATE, [each.commits / each.wall_s for each in shifts])
    yield series(_ATTEMPTS, [each.attempts_per_commit for each in shifts])
    yield series(_P50, [1000 * percentile(each.latencies_s, 0.5) for each in shifts])
    yield series(_P95, [1000 * percentile(each.latencies_s, 0.95) for each in shifts])
    orphans = [each.orphans for each in shifts if each.orphans is not None]
    if orphans:
        yield series(_ORPHANS, orphans)


BENCHMARK: Final = Benchmark("contention", "Sixteen writers of one row", TARGETS, run)
