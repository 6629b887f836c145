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
_DOOR_PAUSE_S: Final = 0.0005  # Whoever is in it is through in a tenth of that, unless it was stopped there.
_DOOR_PAUSE_S_MAX: Final = 0.01


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
    process: int
    seen: Sequence[str] = ()

    def ahead(self) -> Sequence[str]:
        if not self.seen or not (self.folder / self.seen[0]).exists():  # One look at one file is what most looks cost.
            self.seen = [name for name in _tickets(self.folder) if name < self.name]
        return self.seen

    def pass_over(self, name: str) -> None:
        with suppress(OSError):
            (self.folder / name).unlink()

    def pass_over_dead(self, names: Sequence[str]) -> None:
        for name in names:
            with suppress(OSError):
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
    """Return a ticket with the next number; it is locked before it has one, or it would be taken for a dead one's."""
    # Nobody's name is used again: who was passed over would remove the file of another.
    ticket = _Ticket(folder, new_id(), None, os.getpid())
    ticket.descriptor = _opened(folder / ticket.name, os.O_CREAT | os.O_EXCL)
    try:
        _lock(ticket.descriptor)
        with _door(folder, patience):
            number = max((int(name[:_DIGITS]) for name in _tickets(folder)), default=0) + 1
            name = f"{number:0{_DIGITS}}-{ticket.name}"
            (folder / ticket.name).rename(folder / name)
            ticket.name = name
    except BaseException:
        ticket.give_back()
        raise
    return ticket


def _tickets(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if _is_ticket(name))  # noqa: PTH208  # No path for each.


def _is_ticket(name: str) -> bool:
    return name[_DIGITS : _DIGITS + 1] == "-"


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
    """Let one at a time draw a number.

    Raises:
        TimeoutError: somebody has been standing in the door for as long as a turn may take.
    """
    from filelock import unlock_descriptor

    descriptor = _opened(folder / _DOOR, os.O_CREAT)
    try:
        clock, pause_s = patience.clock, _DOOR_PAUSE_S
        ends_s = clock.monotonic_s() + min(patience.turn_s_max, patience.left_s())
        while not _lock(descriptor):
            if clock.monotonic_s() >= ends_s:
                raise TimeoutError(f"the lock of {_DOOR} could not be had")
            clock.wait_s(pause_s)
            pause_s = min(_DOOR_PAUSE_S_MAX, pause_s * 2)
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
