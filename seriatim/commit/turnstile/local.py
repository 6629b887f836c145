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
from seriatim.commit.turnstile.threads import ThreadLines
from seriatim.commit.turnstile.tickets import turn_of_process
from seriatim.system import Clock

WAIT_S_MAX: Final = 2.0
_THREADS: Final = ThreadLines()  # One for all turnstiles of the process: its threads are in line whichever they use.


@dataclass(frozen=True, slots=True)
class LocalTurnstile:
    """First come, first served among the processes of one user on one machine, and among the threads of each.

    A call waits up to `wait_s_max` for its turns, then goes on without. Whoever has had its turn for half of that, while
    others waited, is passed over by them: stopped processes and long changes hold up nobody for longer, and the line
    stays a line. Where there can be no line of processes, there is one of threads.
    """

    wait_s_max: float = WAIT_S_MAX
    folder: Path | None = None  # in which lines of processes are kept; None: one of the user's own, for temporary files

    def __post_init__(self) -> None:
        """Refuse to wait less than nothing, or for ever."""
        if not 0 <= self.wait_s_max < float("inf"):
            raise ValueError(f"wait_s_max must be a number of seconds, zero or more, not {self.wait_s_max}")

    @contextmanager
    def turn(self, line: str, *, wait_s_max: float, clock: Clock) -> Iterator[None]:
        """Enter when it is the caller's turn in the line, or when it has waited that long."""
        patience = Patience.of(wait_s_max, self.wait_s_max / 2, clock)
        with ExitStack() as stack:
            if stack.enter_context(_THREADS.turn(line, patience)) and patience.left_s() > 0:
                try:
                    stack.enter_context(turn_of_process(folder_of(line, self.folder), patience))
                except (OSError, ImportError) as err:
                    say_once(f"turns are taken by the threads of each process alone: {reason(err)}")
            yield
