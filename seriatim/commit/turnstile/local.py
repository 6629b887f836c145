"""The turnstile of one machine: a line of processes, and in each of them a line of threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seriatim.commit.turnstile.folders import folder_of
from seriatim.commit.turnstile.notices import reason, say_once
from seriatim.commit.turnstile.patience import Patience
from seriatim.commit.turnstile.threads import Place, ThreadLines
from seriatim.commit.turnstile.tickets import Ticket, take_turn
from seriatim.system import Clock

_TURNS_MAX: Final = 30
_THREADS: Final = ThreadLines()  # One for all turnstiles of the process: its threads are in line whichever they use.


@dataclass(frozen=True, slots=True)
class LocalTurnstile:
    """First come, first served among the processes of one user on one machine, and among the threads of each.

    Whoever has had its turn for `turn_s_max`, while others waited, is passed over by them. A call goes on without one
    when it has waited for two that were as long, or for thirty times that in all. Where there can be no line of
    processes, there is one of threads.
    """

    turn_s_max: float = 1.0
    folder: Path | None = None  # in which lines of processes are kept; None: one of the user's own, for temporary files

    def __post_init__(self) -> None:
        """Refuse to wait less than nothing, or for ever."""
        if not 0 <= self.turn_s_max < float("inf"):
            raise ValueError(f"turn_s_max must be a number of seconds, zero or more, not {self.turn_s_max}")

    @property
    def wait_s_max(self) -> float:
        """How long a call waits, for all of its turns together."""
        return _TURNS_MAX * self.turn_s_max

    @contextmanager
    def turn(self, line: str, *, wait_s_max: float, clock: Clock) -> Iterator[None]:
        """Enter when it is the caller's turn in the line, or when it has waited long enough."""
        patience = Patience.of(wait_s_max, self.turn_s_max, clock)
        with ExitStack() as stack:
            place = stack.enter_context(_THREADS.turn(line, patience))
            if place is not None and self._has_turn_of_process(place, line, patience):
                place.has_begun = True
            else:
                stack.close()  # Nobody is to wait for one who has given up waiting.
            yield

    def _has_turn_of_process(self, place: Place, line: str, patience: Patience) -> bool:
        """Wait for the other processes, unless the thread before has handed on this one's turn."""
        try:
            folder = folder_of(line, self.folder)
            if not isinstance(place.held, Ticket) or place.held.folder != folder:
                place.give_back()
                place.held = take_turn(folder, patience)
            return place.held is not None
        except OSError as err:
            say_once(f"turns are taken by the threads of each process alone: {reason(err)}")
            return True
