"""Clocks: some that stand still until somebody waits, and some that tell that somebody does."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable

from seriatim.commit.turnstile.patience import Patience
from seriatim.system import SystemClock


class ManualClock:
    """Time that passes by `wait_s` alone; `waits` holds each wait, in order."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.waits: list[float] = []

    def monotonic_s(self) -> float:
        return self.seconds

    def now_ms(self) -> int:
        return round(self.seconds * 1000)

    def wait_s(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.seconds += seconds

    def wait_closed(self, descriptor: int, wait_s_max: float) -> None:
        other_end = select.poll()
        other_end.register(descriptor, 0)
        if not other_end.poll(0):
            self.wait_s(wait_s_max)


class EventfulClock(ManualClock):
    """A clock by which something happens when somebody begins to wait for another to end, the first time."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__()
        self.happens: Callable[[], object] | None = happens

    def wait_closed(self, descriptor: int, wait_s_max: float) -> None:
        happens, self.happens = self.happens, None
        if happens is not None:
            happens()
        super().wait_closed(descriptor, wait_s_max)


class WatchedClock(SystemClock):
    """The machine's clock, which tells when somebody waits by it."""

    def __init__(self, on_wait: Callable[[], None] | None = None) -> None:
        self.waits = threading.Event()  # Set when somebody has begun to wait.
        self._on_wait = on_wait

    def wait_s(self, seconds: float) -> None:
        self._tell()
        super().wait_s(seconds)

    def wait_closed(self, descriptor: int, wait_s_max: float) -> None:
        self._tell()
        super().wait_closed(descriptor, wait_s_max)

    def _tell(self) -> None:
        if not self.waits.is_set():
            self.waits.set()
            if self._on_wait is not None:
                self._on_wait()


class SleepyClock(WatchedClock):
    """A clock by which nobody wakes of itself: what others do must end the wait, or the test does not end in time."""

    def wait_closed(self, descriptor: int, wait_s_max: float) -> None:
        super().wait_closed(descriptor, 3600.0)


class AskedClock(SystemClock):
    """The machine's clock, which tells when it has been asked so often: a thread that is in the line asks once."""

    def __init__(self, times: int = 1) -> None:
        self.is_asked = threading.Event()
        self._left = times

    def monotonic_s(self) -> float:
        self._left -= 1
        if self._left <= 0:
            self.is_asked.set()
        return super().monotonic_s()

    def patience(self, wait_s: float, turn_s_max: float) -> Patience:
        """Return patience by this clock, which has not been asked for that."""
        return Patience(self, SystemClock().monotonic_s() + wait_s, turn_s_max)
