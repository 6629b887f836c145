"""What the loop asks of a turnstile."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

from seriatim.system import Clock


class Turnstile(Protocol):
    """Lets those who write one table go one after another.

    It may fail, let everybody in or nobody: the commit's own pin keeps the table right. All that is lost are attempts.
    """

    @property
    def wait_s_max(self) -> float:
        """How long a call waits, for all of its turns together."""
        ...

    def turn(self, line: str, *, wait_s_max: float, clock: Clock) -> AbstractContextManager[object]:
        """Return a context that is entered when it is the caller's turn in the line, or when it has waited that long.

        The turn is over when the context is left. An entry that raises is no turn.
        """
        ...


class _Open:
    """A turnstile that lets everybody in."""

    wait_s_max: float = 0.0

    def turn(self, line: str, *, wait_s_max: float, clock: Clock) -> AbstractContextManager[object]:
        """Let the caller in at once."""
        del line, wait_s_max, clock
        return nullcontext()


NO_TURNSTILE: Final[Turnstile] = _Open()
