"""How long a call waits: in all, and for any one who is ahead of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from seriatim.system import Clock

PASSED_OVER_MAX: Final = 2
_LOOK_S: Final = 0.02  # For each who is ahead: between two looks at the line of one whom nobody wakes.
_LOOK_S_MAX: Final = 0.1
_LOOKS_MIN: Final = 4  # At a turn that takes as long as it may.


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

    def wait_for(self, name: str, wait_s_max: float, clock: Clock) -> None:
        """Return when somebody has left the line or has died, and after `wait_s_max` at the latest."""
        ...


def wait_for_turn(place: Place, patience: Patience) -> bool:
    """Return True when nobody is ahead, and False when patience is over.

    Each waits for the one before alone, so that a turn that ends wakes nobody else. It looks at the line now and then
    all the same: the first one may have its turn for too long, and a wake-up may fail to come.
    """
    clock, turn_s_max = patience.clock, patience.turn_s_max
    first: str | None = None  # None: not looked yet, or not since a turn has taken too long
    long_s, long_turns = 0.0, 0  # `long_s`: when the turn of the first one will have taken too long
    while ahead := place.ahead():
        now_s = clock.monotonic_s()
        if now_s >= patience.ends_s:
            return False
        if first is not None and now_s >= long_s:
            place.pass_over(first)  # Unless somebody else has just done so, or it has left at last: it was long anyway.
            first, long_turns = None, long_turns + 1
            if long_turns == PASSED_OVER_MAX:
                return False
            continue
        if ahead[0] != first:
            first, long_s = ahead[0], now_s + turn_s_max
        look_s = min(_LOOK_S_MAX, _LOOK_S * len(ahead), turn_s_max / _LOOKS_MIN)
        place.wait_for(ahead[-1], min(look_s, long_s - now_s, patience.ends_s - now_s), clock)
    return True
