"""The line of processes: numbered files in a folder, each locked by the process that waits or has its turn.

The lowest number has its turn. A process that dies lets go of its lock, since the operating system sees to that; a file
that nobody holds is then removed by those who wait. The locks are taken by filelock's functions on descriptors, at five
microseconds each: its lock objects take 150 for what they do beyond, and expect the file to stay where it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seriatim.commit.turnstile.patience import Patience, wait_for_turn
from seriatim.system import new_id

_DIGITS: Final = 12
_DOOR: Final = "door"
_DOOR_S_MAX: Final = 0.25  # Whoever is at the door is through in 50 microseconds, unless it was stopped there.
_DOOR_PAUSE_S: Final = 0.0003


@contextmanager
def turn_of_process(folder: Path, patience: Patience) -> Iterator[bool]:
    """Enter when it is this process's turn in the line that the folder keeps, or when patience is over (False).

    Raises:
        OSError: the folder cannot be used, or the door to it is blocked; there is no turn.
        ImportError: filelock is missing, or is older than 3.30.
    """
    ticket = _draw(folder, patience)
    try:
        has_turn = wait_for_turn(ticket, patience)
        if not has_turn:
            ticket.give_back()
        yield has_turn
    finally:
        ticket.give_back()


@dataclass(slots=True)
class _Ticket:
    """A place in the line: `turnstile.patience.Place`."""

    folder: Path
    name: str
    descriptor: int | None  # holds the file's lock; None: given back
    patience: Patience
    process: int

    def ahead(self) -> Sequence[str]:
        return [name for name in _tickets(self.folder) if name < self.name]

    def pass_over(self, name: str) -> None:
        with suppress(OSError):
            (self.folder / name).unlink()

    def pass_over_dead(self, names: Sequence[str]) -> None:
        # Tickets are drawn behind the door, so that one which is not locked yet is not taken for a dead one.
        with suppress(OSError), _door(self.folder, self.patience):
            for name in names:
                if not _is_held(self.folder / name):
                    self.pass_over(name)

    def give_back(self) -> None:
        """Leave the line; in a child that was forked meanwhile, leave the parent its place."""
        if self.descriptor is None:
            return
        if self.process == os.getpid():
            self.pass_over(self.name)
        os.close(self.descriptor)
        self.descriptor = None


def _draw(folder: Path, patience: Patience) -> _Ticket:
    with _door(folder, patience):
        number = max((int(name[:_DIGITS]) for name in _tickets(folder)), default=0) + 1
        # Nobody's name is used again: who was passed over would remove the file of another.
        name = f"{number:0{_DIGITS}}-{new_id()}"
        descriptor = _opened(folder / name, os.O_CREAT | os.O_EXCL)
        ticket = _Ticket(folder, name, descriptor, patience, os.getpid())
        try:
            _lock(descriptor)
        except BaseException:
            ticket.give_back()
            raise
    return ticket


def _tickets(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name[:_DIGITS].isdecimal())  # noqa: PTH208  # No path for each.


def _is_held(path: Path) -> bool:
    try:
        descriptor = _opened(path)
    except FileNotFoundError:
        return False
    try:
        return not _lock(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _door(folder: Path, patience: Patience) -> Iterator[None]:
    """Let one at a time draw a ticket, or look who is dead.

    Raises:
        TimeoutError: somebody is standing in the door.
    """
    from filelock import unlock_descriptor

    descriptor = _opened(folder / _DOOR, os.O_CREAT)
    try:
        ends_s = patience.clock.monotonic_s() + min(_DOOR_S_MAX, patience.left_s())
        while not _lock(descriptor):
            if patience.clock.monotonic_s() >= ends_s:
                raise TimeoutError(f"the lock of {_DOOR} could not be had")
            patience.clock.wait_s(_DOOR_PAUSE_S)
        try:
            yield
        finally:
            unlock_descriptor(descriptor)  # A child that was forked just now would hold it as long as it lives.
    finally:
        os.close(descriptor)


def _opened(path: Path, flags: int = 0) -> int:
    return os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o600)


def _lock(descriptor: int) -> bool:
    from filelock import lock_descriptor  # Its import takes longer than a commit: not before it is used.

    return lock_descriptor(descriptor, blocking=False)
