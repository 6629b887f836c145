"""The line of processes: numbered FIFOs in a folder, each held open by the process that waits or has its turn.

The lowest number has its turn. Nothing is ever written into a FIFO: whoever waits opens the one before for writing, and
the operating system says when nobody holds that for reading any more, whichever way its process ended. What cannot be
opened so is left of a process that has died; the one behind removes it. A child that was forked in a turn holds its
parent's FIFO for as long as it lives; so FIFOs are removed before they are closed, and looked for now and then.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seriatim.commit.turnstile.patience import Patience, wait_for_turn
from seriatim.system import Clock, new_id

_DIGITS: Final = 12
_MODE: Final = 0o600
_DOOR: Final = "door"
_DOOR_PAUSE_S: Final = 0.0005  # Whoever is in it is through in a tenth of that, unless it was stopped there.
_DOOR_PAUSE_S_MAX: Final = 0.01


def take_turn(folder: Path, patience: Patience) -> Ticket | None:
    """Return when it is this process's turn in the line that the folder keeps, or when patience is over (None).

    Raises:
        OSError: the folder cannot be used, or has no FIFOs, or the door to it is blocked; there is no turn.
    """
    ticket = _draw(folder, patience)
    has_turn = False
    try:
        has_turn = wait_for_turn(ticket, patience)
    finally:
        if not has_turn:
            ticket.give_back()
    return ticket if has_turn else None


@dataclass(slots=True)
class Ticket:
    """A place in the line: `patience.Place` while it waits, and `threads.Held` in its turn."""

    folder: Path
    name: str
    process: int
    descriptor: int | None = None  # None: the FIFO is not open yet, or not any more

    def ahead(self) -> Sequence[str]:
        """Return the tickets with lower numbers."""
        return [name for name in _tickets(self.folder) if name < self.name]

    def pass_over(self, name: str) -> None:
        """Remove a ticket."""
        with suppress(OSError):
            (self.folder / name).unlink()

    def wait_for(self, name: str, wait_s_max: float, clock: Clock) -> None:
        """Wait until nobody holds a ticket open; one that nobody holds is removed."""
        try:
            descriptor = _opened(self.folder / name, os.O_WRONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            return  # It has left since it was seen.
        except OSError as err:
            if err.errno != errno.ENXIO:
                raise
            (self.folder / name).unlink(missing_ok=True)  # Nobody holds it: it has died.
            return
        try:
            clock.wait_closed(descriptor, wait_s_max)
        finally:
            os.close(descriptor)

    def is_wanted(self) -> bool:
        """Tell whether another process waits for the turn, or has passed it over."""
        try:
            return _tickets(self.folder) != [self.name]
        except OSError:
            return True

    def give_back(self) -> None:
        """Leave the line; in a child that was forked meanwhile, leave the parent its place."""
        if self.process == os.getpid():
            self.pass_over(self.name)
        descriptor, self.descriptor = self.descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _draw(folder: Path, patience: Patience) -> Ticket:
    """Return a ticket with the next number; it is held before it has one, or it would be taken for a dead one's."""
    # Nobody's name is used again: who was passed over would remove the file of another.
    ticket = Ticket(folder, new_id(), os.getpid())
    os.mkfifo(folder / ticket.name, _MODE)
    try:
        ticket.descriptor = _opened(folder / ticket.name, os.O_RDONLY | os.O_NONBLOCK)
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


@contextmanager
def _door(folder: Path, patience: Patience) -> Iterator[None]:
    """Let one at a time draw a number.

    Raises:
        TimeoutError: somebody has been standing in the door for as long as a turn may take.
    """
    import fcntl  # Not at the top: Windows has none, and can import the module.

    descriptor = _opened(folder / _DOOR, os.O_RDWR | os.O_CREAT)
    try:
        clock, pause_s = patience.clock, _DOOR_PAUSE_S
        ends_s = clock.monotonic_s() + min(patience.turn_s_max, patience.left_s())
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if clock.monotonic_s() >= ends_s:
                    raise TimeoutError(f"the lock of {_DOOR} could not be had") from None
            clock.wait_s(pause_s)
            pause_s = min(_DOOR_PAUSE_S_MAX, pause_s * 2)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # A child that was forked just now would hold it on.
    finally:
        os.close(descriptor)


def _opened(path: Path, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, _MODE)
