"""Holds the load: starts the processes, kills some of them, and writes down how the table grows meanwhile."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext, ForkServerProcess
from random import Random
from typing import Final

import psutil
from pyiceberg.table import Table

from seriatim.system import SystemClock
from soak import writer
from soak.changes import TABLE
from soak.observer import Observer
from soak.place import Place, local

_LOOK_EVERY_S: Final = 1.0
_SAMPLE_EVERY_S: Final = 5.0
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """How a soak is run."""

    minutes: float
    writers: int
    seed: int
    kill_every_s: float  # on average; 0: nobody is killed


@dataclass(frozen=True, slots=True)
class Sample:
    """The table and the processes at one moment."""

    at_s: float  # since the beginning
    commits: int
    rss_mib_max: float  # of the writers' processes, the largest
    files: int
    mib: float
    metadata_kib: float
    snapshots: int


@dataclass(slots=True)
class Course:
    """What happened while the load was on."""

    begun_s: float  # on the clock that the processes' logs use
    observer: Observer = field(default_factory=Observer)
    samples: list[Sample] = field(default_factory=list)
    kills: int = 0


def run(place: Place, settings: Settings, said: Callable[[str], None]) -> Course:
    """Keep the load on the table for as long as the settings say, and return what happened."""
    clock, chance, catalog = SystemClock(), Random(settings.seed), place.catalog()
    course = Course(begun_s=clock.monotonic_s())
    until_s = course.begun_s + settings.minutes * 60
    crew = _Crew(place, settings, until_s)
    next_kill_s = course.begun_s + _pause_s(settings, chance)
    next_sample_s = course.begun_s
    try:
        while (now_s := clock.monotonic_s()) < until_s:
            if now_s >= next_kill_s:
                course.kills += crew.kill(chance.randrange(settings.writers))
                next_kill_s = now_s + _pause_s(settings, chance)
            table = catalog.load_table(TABLE)
            course.observer.look(table)
            if now_s >= next_sample_s:
                sample = _sample(table, course, now_s - course.begun_s, crew.rss_mib_max())
                course.samples.append(sample)
                next_sample_s = now_s + _SAMPLE_EVERY_S
                said(f"{sample.at_s:6.0f} s: {sample.commits} commits, {course.kills} kills, {sample.files} files")
            clock.wait_s(min(_LOOK_EVERY_S, max(0.0, until_s - clock.monotonic_s())))
    finally:
        crew.join()
    course.observer.look(catalog.load_table(TABLE))
    catalog.engine.dispose()
    return course


def _pause_s(settings: Settings, chance: Random) -> float:
    return chance.expovariate(1 / settings.kill_every_s) if settings.kill_every_s else float("inf")


class _Crew:
    """The processes; those that were killed are started again at once."""

    def __init__(self, place: Place, settings: Settings, until_s: float) -> None:
        self._place, self._settings, self._until_s = place, settings, until_s
        self._context: ForkServerContext = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([writer.__name__])
        self._writers = [self._start_writer(number) for number in range(settings.writers)]
        self._upkeep = self._context.Process(target=writer.keep_up, args=(place, until_s))
        self._upkeep.start()

    def kill(self, number: int) -> int:
        """Kill a writer, wherever it is, and start another in its place; return how many were killed."""
        victim = self._writers[number]
        victim.kill()
        victim.join()
        self._writers[number] = self._start_writer(number)
        return int(victim.exitcode is not None and victim.exitcode < 0)

    def rss_mib_max(self) -> float:
        """Return the resident memory of the largest writer."""
        sizes = [0.0]
        for process in self._writers:
            try:
                sizes.append(psutil.Process(process.pid).memory_info().rss / _MIB)
            except psutil.NoSuchProcess:
                continue
        return max(sizes)

    def join(self) -> None:
        """Return when all have ended, each after the operation that it was at."""
        for process in (*self._writers, self._upkeep):
            process.join()

    def _start_writer(self, number: int) -> ForkServerProcess:
        arguments = (self._place, self._settings.seed, number, self._until_s)
        process = self._context.Process(target=writer.write, args=arguments)
        process.start()
        return process


def _sample(table: Table, course: Course, at_s: float, rss_mib_max: float) -> Sample:
    files = size = 0
    for folder, _, names in os.walk(local(table.location())):
        for name in names:
            try:
                size += os.stat(os.path.join(folder, name)).st_size  # noqa: PTH116, PTH118  (Thousands of files.)
            except FileNotFoundError:  # Upkeep was faster.
                continue
            files += 1
    metadata = local(table.metadata_location)
    return Sample(
        at_s=at_s,
        commits=course.observer.commits,
        rss_mib_max=rss_mib_max,
        files=files,
        mib=size / _MIB,
        metadata_kib=metadata.stat().st_size / 1024 if metadata.exists() else 0.0,  # It may be an old one by now.
        snapshots=len(table.metadata.snapshots),
    )
