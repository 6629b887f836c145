"""How overlapping writers of a system that does not see to it by itself are kept from losing, or made to try again."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from benchmarks.systems.port import Contended, Session, Spent, System
from seriatim.system import SystemClock, new_random

_ATTEMPTS_MAX: Final = 10_000  # Nobody is to give up.


class _Guarded:
    """A system whose writers are kept apart, or made to try again: the same tables, and sessions of its own."""

    system: System
    how: ClassVar[str]

    @property
    def name(self) -> str:
        """What a report calls it."""
        return f"{self.system.name} {self.how}"

    @property
    def requires(self) -> tuple[str, ...]:
        """The modules without which it cannot be measured."""
        return self.system.requires

    def create(self, folder: Path) -> None:
        """Make the table."""
        self.system.create(folder)

    def orphans(self, folder: Path, commits: int) -> int | None:
        """Count the data files that no commit has written."""
        return self.system.orphans(folder, commits)


@dataclass(frozen=True, slots=True)
class Jittered(_Guarded):
    """Try again after a conflict, each time after a random pause of up to twice as long (full jitter)."""

    system: Contended
    how: ClassVar[str] = "with full jitter"
    wait_s_first: float = 0.01
    wait_s_max: float = 1.0

    def session(self, folder: Path, worker: int = 0) -> Session:
        """Open the table."""
        return _JitteredSession(self.system.session(folder, worker), self)


class _JitteredSession:
    def __init__(self, session: Session, guard: Jittered) -> None:
        self._session, self._guard = session, guard
        self._clock, self._chance = SystemClock(), new_random()
        self.read, self.close = session.read, session.close

    def increment(self) -> Spent:
        for attempt in range(1, _ATTEMPTS_MAX):
            try:
                self._session.increment()
            except self._guard.system.conflicts:
                ceiling_s = min(self._guard.wait_s_max, self._guard.wait_s_first * 2.0 ** min(attempt, 30))
                self._clock.wait_s(self._chance.uniform(0.0, ceiling_s))
            else:
                return Spent(attempt, attempt)
        self._session.increment()
        return Spent(_ATTEMPTS_MAX, _ATTEMPTS_MAX)


@dataclass(frozen=True, slots=True)
class Locked(_Guarded):
    """Do each increment under a lock on a file, for which the operating system lets processes and threads queue."""

    system: System
    how: ClassVar[str] = "with a file lock"

    def session(self, folder: Path, worker: int = 0) -> Session:
        """Open the table."""
        return _LockedSession(self.system.session(folder, worker), folder / "lock")


class _LockedSession:
    def __init__(self, session: Session, path: Path) -> None:
        self._session, self._file = session, path.open("a")
        self.read = session.read

    def increment(self) -> Spent:
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            return self._session.increment()
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        self._file.close()
        self._session.close()


@dataclass(frozen=True, slots=True)
class Relayed(_Guarded):
    """Do the increments in a ring, each woken by the one before: what a perfect turnstile would come to."""

    system: System
    how: ClassVar[str] = "in a relay"

    def session(self, folder: Path, worker: int = 0) -> Session:
        """Open the table, and a place in the ring."""
        return _RelayedSession(self.system.session(folder, worker), folder, worker)


class _RelayedSession:
    def __init__(self, session: Session, folder: Path, worker: int) -> None:
        self._session, self._folder, self._worker = session, folder, worker
        self.read = session.read
        place = self._place(worker)
        if not place.exists():
            os.mkfifo(place)
        self._own = os.open(place, os.O_RDWR)
        self._next: int | None = None  # None: not everybody need have come yet
        if worker == 0:
            os.write(self._own, b"\0")

    def increment(self) -> Spent:
        if self._next is None:
            place = self._place(self._worker + 1)
            self._next = os.open(place if place.exists() else self._place(0), os.O_RDWR)
        baton = os.read(self._own, 1)
        try:
            return self._session.increment()
        finally:
            os.write(self._next, baton)

    def close(self) -> None:
        os.close(self._own)
        if self._next is not None:
            os.close(self._next)
        self._session.close()

    def _place(self, worker: int) -> Path:
        return self._folder / f"relay-{worker}"
