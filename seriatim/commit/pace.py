"""What a process has seen of late of those who write a table: how long an attempt takes, and how many want to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from seriatim.commit.seen import Seen

_ATTEMPT_S_MIN: Final = 0.001  # A clock may be too coarse to see an attempt.
_EASING: Final = 0.8  # After each call: what its conflicts have doubled is balanced at one in three calls.
_CROWD_MAX: Final = 64.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How long an attempt takes, and the crowd: into how many attempts' time the first retry of a call is spread."""

    attempt_s: float = 0.05
    crowd: float = 1.0

    @property
    def first_s(self) -> float:
        """How long the first pause of a call may be."""
        return max(_ATTEMPT_S_MIN, self.attempt_s) * self.crowd

    def measured(self, attempts: int, took_s: float) -> Pace:
        """Return the pace with the time that these attempts took, all together."""
        return replace(self, attempt_s=took_s / attempts)

    def after(self, attempts: int) -> Pace:
        """Return the pace after a call of so many attempts.

        Each conflict has doubled the call's pauses. The next call begins with what they had grown to, less a fifth: so
        calls one in three of which meets a conflict leave it as it is, calls that meet more spread out, and calls that
        meet none close up.
        """
        crowd = self.crowd * 2.0 ** min(attempts - 1, 30) * _EASING
        return replace(self, crowd=min(_CROWD_MAX, max(1.0, crowd)))


UNSEEN: Final = Pace()
PACES: Final = Seen(UNSEEN)
