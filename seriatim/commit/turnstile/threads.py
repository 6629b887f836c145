"""The line of a process's own threads: first come, first served, each woken by the one before."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from seriatim.commit.turnstile.patience import PASSED_OVER_MAX, Patience


@dataclass(slots=True, eq=False)
class Place:
    """A thread's place in a line."""

    is_first: threading.Event = field(default_factory=threading.Event)
    has_begun: bool = False  # Its turn has: whoever still waits for others is passed over by nobody.


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
            places[0].is_first.set()
        return place

    def leave(self, line: str, place: Place) -> None:
        """Take a place out of the line, wherever it is in it."""
        with self.guard:
            places = self.places.get(line, deque())
            if place in places:
                places.remove(place)
            if places:
                places[0].is_first.set()
            else:
                self.places.pop(line, None)

    def holder(self, line: str) -> Place | None:
        """Return the place whose turn has begun; None: there is none."""
        with self.guard:
            first = next(iter(self.places.get(line, ())), None)
        return first if first is not None and first.has_begun else None


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
    while not place.is_first.is_set():
        holder, limit_s = lines.holder(line), min(left_s, patience.turn_s_max)
        if place.is_first.wait(limit_s):
            break
        left_s -= limit_s
        if holder is not None and holder is lines.holder(line):
            lines.leave(line, holder)
            passed_over += 1
        if left_s <= 0 or passed_over == PASSED_OVER_MAX:
            return False
    return True
