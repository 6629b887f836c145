"""A clock that stands still until somebody waits."""

from __future__ import annotations


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
