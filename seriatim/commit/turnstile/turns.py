"""The turns of one call, whatever the turnstile is worth."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from seriatim.commit.turnstile.notices import reason, say_once
from seriatim.commit.turnstile.port import Turnstile
from seriatim.system import Clock


class _Held(threading.local):
    """The turns that a thread has."""

    def __init__(self) -> None:
        self.lines: set[tuple[int, str]] = set()  # by process, too: a forked child has none of its parent's

    @contextmanager
    def line(self, name: str) -> Iterator[None]:
        """Have the turn in this line."""
        held = (os.getpid(), name)
        self.lines.add(held)
        try:
            yield
        finally:
            self.lines.discard(held)


_held = _Held()


class Turns:
    """Lets each attempt of a call wait for its turn, as long as there is patience left.

    A call within a call of the same thread, on the same table, does not wait for the outer one, which waits for it.
    What a turnstile raises is logged, and the attempt goes on: the pin keeps the table right.
    """

    def __init__(self, turnstile: Turnstile, line: str | None, wait_s_max: float, clock: Clock) -> None:
        """Begin a call that waits for its turns in `line` (None: it takes none) for up to `wait_s_max` in all."""
        self._turnstile, self._line, self._clock = turnstile, line, clock
        self._wait_s_max = min(wait_s_max, turnstile.wait_s_max)
        self.queued_s = 0.0  # waited for turns
        self.taken_s = 0.0  # in which attempts were made

    @property
    def are_taken(self) -> bool:
        """Whether the next attempt may have to wait."""
        is_waited_for = self._line is not None and (os.getpid(), self._line) not in _held.lines
        return is_waited_for and self._wait_s_max > self.queued_s

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Enter when an attempt may begin."""
        asked_s = self._clock.monotonic_s()
        with ExitStack() as stack:
            self._enter(stack)
            begun_s = self._clock.monotonic_s()
            self.queued_s += begun_s - asked_s
            try:
                yield
            finally:
                self.taken_s += self._clock.monotonic_s() - begun_s
                _leave(stack)

    def _enter(self, stack: ExitStack) -> None:
        """Put what ends the turn on the stack: nothing, if there is none."""
        if self._line is None or not self.are_taken:
            return
        left_s = self._wait_s_max - self.queued_s
        try:
            stack.enter_context(self._turnstile.turn(self._line, wait_s_max=left_s, clock=self._clock))
        except Exception as err:  # noqa: BLE001  # Whatever it is, an attempt needs no turn to be right.
            say_once(f"{type(self._turnstile).__name__} gave no turn: {reason(err)}")
        else:
            stack.enter_context(_held.line(self._line))


def _leave(stack: ExitStack) -> None:
    """End the turn without telling the turnstile of an exception, which it might swallow."""
    try:
        stack.close()
    except Exception as err:  # noqa: BLE001  # The attempt is over, and what became of it is not the turnstile's.
        say_once(f"a turn could not be ended: {reason(err)}")
