"""How often, and with which pauses, a conflict is answered by another attempt."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Bounds on the attempts of one call.

    Between two attempts the loop waits a random time between zero and
    `min(wait_s_max, wait_s_first * 2 ** (attempt - 1))` (full jitter).
    """

    attempts_max: int = 20
    total_s_max: float = 120.0
    wait_s_first: float = 0.05
    wait_s_max: float = 2.0

    def __post_init__(self) -> None:
        """Refuse bounds that allow nothing."""
        if self.attempts_max < 1:
            raise ValueError(f"attempts_max must be at least 1, not {self.attempts_max}")
        for name in ("total_s_max", "wait_s_first", "wait_s_max"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name)}")

    def wait_s(self, attempt: int, chance: random.Random) -> float:
        """Return the pause after the failed `attempt` (counted from 1), in seconds."""
        ceiling = min(self.wait_s_max, self.wait_s_first * 2.0 ** min(attempt - 1, 30))
        return chance.uniform(0.0, ceiling)
