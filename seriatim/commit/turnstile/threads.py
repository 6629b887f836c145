"""The line of a process's own threads: first come, first served, each woken by the one before."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from seriatim.commit.turnstile.patience import PASSED_OVER_MAX, Patience


class Held(Protocol):
    """What whoever has its turn holds for it, and hands on to the next thread unless somebody else wants it."""

    def is_wanted(self) -> bool:
        """Tell whether others than the threads of this process wait for it."""
        ...

    def give_back(self) -> None:
        """Let them have it."""
        ...


def _closed() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


@dataclass(slots=True, eq=False)
class Place:
    """A thread's place in a line."""

    has_begun: bool = False  # Its turn has: whoever still waits for others is passed over by nobody.
    held: Held | None = None  # None: nothing yet, or not any more
    is_first: bool = False
    _gate: threading.Lock = field(default_factory=_closed)  # Lighter than an event, and opened once.

    def come_first(self) -> None:
        """Be woken, if that has not been done yet; one at a time may call it."""
        if not self.is_first:
            self.is_first = True
            self._gate.release()

    def wait(self, wait_s_max: float) -> bool:
        """Return True when the place is the first, and False after `wait_s_max`."""
        return self.is_first or self._gate.acquire(timeout=wait_s_max)

    def give_back(self) -> None:
        """Hold nothing any more."""
        held, self.held = self.held, None
        if held is not None:
            held.give_back()


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of one process: a forked child has the memory of its parent's, and none of those who stand in them."""

    process: int
    guard: threading.Lock = field(default_factory=threading.Lock)
    places: dict[str, deque[Place]] = field(default_factory=dict)  # by line

    def join(self, line: str) -> Place:
        """Return a place at the end of the line."""
        place = Place()
        with self.guard:
            places = self.places.setdefault(line, deque())
            places.append(place)
            places[0].come_first()
        return place

    def leave(self, line: str, place: Place) -> None:
        """Take a place out of the line, wherever it is in it; what the first one holds is the next one's now."""
        if self.process == os.getpid():
            if place.held is not None and place.held.is_wanted():
                place.give_back()  # Before the next one is woken, which would wait for it.
            self._take_out(line, place, hands_on=True)
        place.give_back()

    def pass_over(self, line: str, place: Place) -> None:
        """Take the place of another thread out of the line; what it holds stays with it."""
        self._take_out(line, place, hands_on=False)

    def holder(self, line: str) -> Place | None:
        """Return the place whose turn has begun; None: there is none."""
        with self.guard:
            first = next(iter(self.places.get(line, ())), None)
        return first if first is not None and first.has_begun else None

    def _take_out(self, line: str, place: Place, *, hands_on: bool) -> None:
        with self.guard:
            places = self.places.get(line, deque())
            if place not in places:
                return
            was_first = places[0] is place
            places.remove(place)
            if not places:
                del self.places[line]
                return
            if hands_on and was_first:
                places[0].held, place.held = place.held, None
            places[0].come_first()


class ThreadLines:
    """Lines of threads, by name."""

    def __init__(self) -> None:
        """Begin with empty lines."""
        self._lines = _Lines(os.getpid())

    @contextmanager
    def turn(self, line: str, patience: Patience) -> Iterator[Place | None]:
        """Enter when the thread is the first in the line, or when patience is over (None)."""
        lines = self._of_this_process()
        place = lines.join(line)
        try:
            is_first = _wait_for_turn(lines, line, place, patience)
            if not is_first:
                lines.leave(line, place)
            yield place if is_first else None
        finally:
            lines.leave(line, place)

    def _of_this_process(self) -> _Lines:
        if self._lines.process != os.getpid():
            self._lines = _Lines(os.getpid())
        return self._lines


def _wait_for_turn(lines: _Lines, line: str, place: Place, patience: Patience) -> bool:
    """Wait by the threads' own means, which are woken at once; time is counted by what was waited in vain."""
    left_s, passed_over = patience.left_s(), 0
    while not place.is_first:
        holder, limit_s = lines.holder(line), min(left_s, patience.turn_s_max)
        if place.wait(limit_s):
            break
        left_s -= limit_s
        if holder is not None and holder is lines.holder(line):
            lines.pass_over(line, holder)
            passed_over += 1
        if left_s <= 0 or passed_over == PASSED_OVER_MAX:
            return False
    return True
