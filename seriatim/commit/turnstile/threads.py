"""The line of a process's own threads: first come, first served, each woken by the one before."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from seriatim.commit.turnstile.patience import Patience


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of one process: a forked child has the memory of its parent's, and none of those who stand in them."""

    process: int
    guard: threading.Lock = field(default_factory=threading.Lock)
    places: dict[str, deque[threading.Event]] = field(default_factory=dict)  # by line; each is set when it is first

    def join(self, line: str) -> threading.Event:
        """Return a place at the end of the line."""
        place = threading.Event()
        with self.guard:
            places = self.places.setdefault(line, deque())
            places.append(place)
            places[0].set()
        return place

    def leave(self, line: str, place: threading.Event) -> None:
        """Take a place out of the line, wherever it is in it."""
        with self.guard:
            places = self.places.get(line, deque())
            if place in places:
                places.remove(place)
            if places:
                places[0].set()
            else:
                self.places.pop(line, None)

    def first(self, line: str) -> threading.Event | None:
        """Return the place that is first; None: nobody is in the line."""
        with self.guard:
            return next(iter(self.places.get(line, ())), None)


class ThreadLines:
    """Lines of threads, by name."""

    def __init__(self) -> None:
        """Begin with empty lines."""
        self._lines = _Lines(os.getpid())

    @contextmanager
    def turn(self, line: str, patience: Patience) -> Iterator[bool]:
        """Enter when it is this thread's turn, or when patience is over (False)."""
        lines = self._of_this_process()
        place = lines.join(line)
        try:
            has_turn = _wait_for_turn(lines, line, place, patience)
            if not has_turn:
                lines.leave(line, place)
            yield has_turn
        finally:
            lines.leave(line, place)

    def _of_this_process(self) -> _Lines:
        if self._lines.process != os.getpid():
            self._lines = _Lines(os.getpid())
        return self._lines


def _wait_for_turn(lines: _Lines, line: str, place: threading.Event, patience: Patience) -> bool:
    """Wait by the threads' own means, which are woken at once; `patience` counts what was waited in vain."""
    left_s = patience.left_s()
    while not place.is_set():
        first, limit_s = lines.first(line), min(left_s, patience.turn_s_max)
        if place.wait(limit_s):
            break
        left_s -= limit_s
        if left_s <= 0:
            return False
        if first is not None and first is lines.first(line):
            lines.leave(line, first)
    return True
