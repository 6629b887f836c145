"""How overlapping writers of a system that does not see to it by itself are kept from losing, or made to try again."""

from __future__ import annotations

import fcntl
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
