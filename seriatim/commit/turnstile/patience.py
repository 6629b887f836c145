"""How long a call waits: in all, and for any one who is ahead of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from seriatim.system import Clock

_SHORTEST_S: Final = 0.0005  # A commit takes twenty times that, at least: its successor has not long to wait.
_SHARE: Final = 0.03  # Of a longer turn, that much may be lost before the next one begins.
_FURTHER_BACK_S: Final = 0.004  # For each who is between: nobody commits that fast.
_LONGEST_S: Final = 0.1
PASSED_OVER_MAX: Final = 2
_CHECK_S: Final = 0.025  # Between two looks whether those ahead live, for each of them.


@dataclass(frozen=True, slots=True)
class Patience:
    """When a call stops waiting: as long as the line moves, not before `ends_s`.

    Whoever has had its turn for `turn_s_max` while somebody waited is passed over, for all who wait: a process that is
    stopped holds up the line once, and not each of those in it. Where a second turn is as long, changes take long here:
    several at a time are better than one, so that whoever has waited for two goes on without a turn.
    """

    clock: Clock
    ends_s: float
    turn_s_max: float

    @classmethod
    def of(cls, wait_s_max: float, turn_s_max: float, clock: Clock) -> Patience:
        """Begin to wait."""
        return cls(clock, clock.monotonic_s() + wait_s_max, turn_s_max)

    def left_s(self) -> float:
        """Return the seconds that are left; zero: it is over."""
        return max(0.0, self.ends_s - self.clock.monotonic_s())


class Place(Protocol):
    """A place in a line."""

    def ahead(self) -> Sequence[str]:
        """Return the names of those who come before, the first one first."""
        ...

    def pass_over(self, name: str) -> None:
        """Take somebody out of the line."""
        ...

    def pass_over_dead(self, names: Sequence[str]) -> None:
        """Take those out of the line who have died."""
        ...


def wait_for_turn(place: Place, patience: Patience) -> bool:
    """Return True when nobody is ahead, and False when patience is over.

    The one behind the first looks often, so that little time passes between two turns; those further back look the less
    often the more are between, so that a long line costs little more than a short one.
    """
    clock = patience.clock
    since_s = clock.monotonic_s()
    check_s = since_s + _CHECK_S
    first: str | None = None  # None: not looked yet
    passed_over = 0
    while ahead := place.ahead():
        now_s = clock.monotonic_s()
        if now_s >= patience.ends_s:
            return False
        if ahead[0] != first:
            first, since_s = ahead[0], now_s
        if now_s - since_s >= patience.turn_s_max:
            place.pass_over(ahead[0])
            since_s, passed_over = now_s, passed_over + 1
            if passed_over == PASSED_OVER_MAX:
                return False
        elif now_s >= check_s:
            place.pass_over_dead(ahead)
            check_s = now_s + _CHECK_S * len(ahead)
        clock.wait_s(min(pause_s(len(ahead), now_s - since_s), patience.ends_s - now_s))
    return True


def pause_s(ahead: int, since_s: float) -> float:
    """Return the pause before the next look, with so many ahead, the first of whom has been that for so long."""
    if ahead == 1:
        return min(_LONGEST_S, max(_SHORTEST_S, _SHARE * since_s))
    return min(_LONGEST_S, (ahead - 1) * max(_FURTHER_BACK_S, _SHARE * since_s))
