"""How often, and with which pauses, a conflict is answered by another attempt."""

from __future__ import annotations

import random
from dataclasses import dataclass

from seriatim.commit.pace import UNSEEN, Pace


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Bounds on the attempts of one call.

    Between two attempts the loop waits a random time between zero and
    `min(wait_s_max, wait_s_first * 2 ** (attempt - 1))` (full jitter). Without `wait_s_first` it is measured: as
    long as an attempt takes, times how crowded the process has found the table of late (`commit/pace.py`).
    """

    attempts_max: int = 20
    total_s_max: float = 120.0
    wait_s_first: float | None = None  # None: as measured
    wait_s_max: float = 2.0

    def __post_init__(self) -> None:
        """Refuse bounds that allow nothing."""
        if self.attempts_max < 1:
            raise ValueError(f"attempts_max must be at least 1, not {self.attempts_max}")
        for name in ("total_s_max", "wait_s_first", "wait_s_max"):
            if (getattr(self, name) or 0.0) < 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name)}")

    def wait_s(self, attempt: int, chance: random.Random, pace: Pace = UNSEEN) -> float:
        """Return the pause after the failed `attempt` (counted from 1), in seconds."""
        first_s = pace.first_s if self.wait_s_first is None else self.wait_s_first
        return chance.uniform(0.0, min(self.wait_s_max, first_s * 2.0 ** min(attempt - 1, 30)))
