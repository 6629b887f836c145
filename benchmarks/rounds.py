"""Interleaved rounds: every task once in each, in an order drawn anew: what disturbs the machine disturbs them all."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.figures import Key, Series


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Task:
    """What is timed, in milliseconds, and what is to be done before without being timed."""

    key: Key
    run: Callable[[], object]
    prepare: Callable[[], object] = _nothing


def own_cpu_s() -> float:
    """Return the CPU time of this process, all threads of it."""
    return time.process_time()


def children_cpu_s() -> float:
    """Return the CPU time of the processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def interleaved(
    tasks: Sequence[Task],
    *,
    rounds: int,
    warmup: int,
    chance: random.Random,
    cpu_s: Callable[[], float] = own_cpu_s,
) -> tuple[Series, ...]:
    """Run the tasks round by round, and return a series for each, in their order; warming up is not counted."""
    walls: dict[Key, list[float]] = {task.key: [] for task in tasks}
    cpus: dict[Key, list[float]] = {task.key: [] for task in tasks}
    for number in range(-warmup, rounds):
        for task in chance.sample(list(tasks), len(tasks)):
            task.prepare()
            begun_s, cpu_begun_s = time.perf_counter(), cpu_s()
            task.run()
            cpu_spent_s, spent_s = cpu_s() - cpu_begun_s, time.perf_counter() - begun_s
            if number >= 0:
                walls[task.key].append(1000 * spent_s)
                cpus[task.key].append(1000 * cpu_spent_s)
    return tuple(Series(task.key, tuple(walls[task.key]), tuple(cpus[task.key])) for task in tasks)
