"""A crew: workers, in processes and threads, that begin together and increment one table, each so many times."""

from __future__ import annotations

import multiprocessing
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Final, Protocol

from benchmarks.benchmark import require
from benchmarks.systems.port import System

CAP_S: Final = 10.0
WARM_UPS: Final = 3  # The first commits of a process work out, and touch, what later ones find.
_START_S_MAX: Final = 120.0


@dataclass(frozen=True, slots=True)
class Crew:
    """How many work, how often, and when they stop though they are not done."""

    processes: int
    threads: int  # in each process
    increments: int  # of each worker
    cap_s: float = CAP_S

    @property
    def workers(self) -> int:
        """How many there are."""
        return self.processes * self.threads


@dataclass(frozen=True, slots=True)
class Worked:
    """What one worker did."""

    latencies_s: tuple[float, ...]
    attempts: int
    computations: int


@dataclass(frozen=True, slots=True)
class Shift:
    """What all did, and whether the table was right is no question any more."""

    wall_s: float
    worked: tuple[Worked, ...]
    orphans: int | None  # None: they cannot be counted

    @property
    def latencies_s(self) -> tuple[float, ...]:
        """How long each commit took, from its call to its return."""
        return tuple(each for worked in self.worked for each in worked.latencies_s)

    @property
    def commits(self) -> int:
        """How many landed."""
        return len(self.latencies_s)

    @property
    def attempts_per_commit(self) -> float:
        """Attempts, also those that lost, for each commit that landed."""
        return sum(each.attempts for each in self.worked) / self.commits

    @property
    def computations_per_commit(self) -> float:
        """Computations, also those that were dropped, for each commit that landed."""
        return sum(each.computations for each in self.worked) / self.commits


class _Results(Protocol):
    def put(self, item: Worked | str, /) -> None: ...

    def get(self) -> Worked | str: ...


def work(system: System, folder: Path, crew: Crew) -> Shift:
    """Let the crew work on a new table in the folder; what each does to warm up is in the table, and not in the shift.

    Raises:
        WrongResultError: the table does not hold what was committed.
        RuntimeError: a worker has failed.
    """
    system.create(folder)
    # Forked from a process that has imported everything and opened nothing: real processes that start at once.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.systems.catalogue"])
    barrier, results = context.Barrier(crew.workers + 1), context.SimpleQueue()
    processes = [
        context.Process(target=_process, args=(system, folder, crew, number, barrier, results), daemon=True)
        for number in range(crew.processes)
    ]
    for process in processes:
        process.start()
    try:
        wall_s, worked = _watched(crew, barrier, results)
        for process in processes:
            process.join()
    finally:
        for process in processes:
            process.kill()  # Nothing, if it has ended.
    commits = WARM_UPS * crew.workers + sum(len(each.latencies_s) for each in worked)
    session = system.session(folder)
    require(system.name, session.read(), commits)
    session.close()
    return Shift(wall_s, worked, system.orphans(folder, commits))


def _watched(crew: Crew, barrier: Barrier, results: _Results) -> tuple[float, tuple[Worked, ...]]:
    """Begin with all workers, and return how long it took, and what each did."""
    with suppress(threading.BrokenBarrierError):  # By a worker that has failed, and said so before.
        barrier.wait(_START_S_MAX)  # All are there.
        barrier.wait(_START_S_MAX)  # All are warm.
    begun_s = time.perf_counter()
    worked = tuple(_worked(results.get()) for _ in range(crew.workers))
    return time.perf_counter() - begun_s, worked


def _process(system: System, folder: Path, crew: Crew, number: int, barrier: Barrier, results: _Results) -> None:
    def one(worker: int) -> None:
        try:
            results.put(_work(system, folder, crew, worker, barrier))
        except Exception as err:  # noqa: BLE001  # Told to the parent, which raises it.
            results.put(f"worker {worker}: {type(err).__name__}: {err}")
            barrier.abort()

    threads = [threading.Thread(target=one, args=(number * crew.threads + thread,)) for thread in range(crew.threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _work(system: System, folder: Path, crew: Crew, worker: int, barrier: Barrier) -> Worked:
    session = system.session(folder, worker)
    barrier.wait(_START_S_MAX)
    for _ in range(WARM_UPS):
        session.increment()
    latencies_s: list[float] = []
    attempts = computations = 0
    barrier.wait(_START_S_MAX)
    begun_s = ended_s = time.perf_counter()
    while len(latencies_s) < crew.increments and ended_s - begun_s < crew.cap_s:
        called_s = ended_s
        spent = session.increment()
        ended_s = time.perf_counter()
        latencies_s.append(ended_s - called_s)
        attempts, computations = attempts + spent.attempts, computations + spent.computations
    session.close()
    return Worked(tuple(latencies_s), attempts, computations)


def _worked(item: Worked | str) -> Worked:
    if isinstance(item, str):
        raise RuntimeError(item)
    return item
