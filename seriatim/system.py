"""The one place that touches the clock, chance and identity; everything else is given them."""

from __future__ import annotations

import random
import select
import socket
import time
import uuid
from typing import Protocol


class Clock(Protocol):
    """Time as the loop uses it."""

    def monotonic_s(self) -> float:
        """Return seconds on a clock that never goes back."""
        ...

    def now_ms(self) -> int:
        """Return milliseconds since 1970-01-01 UTC."""
        ...

    def wait_s(self, seconds: float) -> None:
        """Return after that many seconds."""
        ...

    def wait_closed(self, descriptor: int, wait_s_max: float) -> None:
        """Return when nobody has the other end of a pipe any more, or after that many seconds."""
        ...


class SystemClock:
    """The machine's clock."""

    def monotonic_s(self) -> float:
        """Return seconds on a clock that never goes back."""
        return time.monotonic()

    def now_ms(self) -> int:
        """Return milliseconds since 1970-01-01 UTC."""
        return time.time_ns() // 1_000_000

    def wait_s(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)

    def wait_closed(self, descriptor: int, wait_s_max: float) -> None:
        """Let the operating system say when the other end is closed, however its process ends."""
        other_end = select.poll()
        other_end.register(descriptor, 0)  # For no event: that nobody is there is told all the same.
        other_end.poll(wait_s_max * 1000)


def new_id() -> str:
    """Return an id that nobody else has."""
    return uuid.uuid4().hex


def new_random() -> random.Random:
    """Return a source of chance seeded by the operating system."""
    return random.Random()


def host_name() -> str:
    """Return the name of this machine, as it calls itself."""
    return socket.gethostname()
