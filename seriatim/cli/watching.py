"""A mirror that is kept up: round after round, until somebody asks it to end.

SIGTERM and the first Ctrl-C end it where nothing is under way: in a pause, or after the catalog commit that is being
made. A second Ctrl-C ends it at once, which costs no more than the commit: the next run takes up where it was.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Final

from seriatim.cli import exit_codes
from seriatim.mirror import MirrorReceipt
from seriatim.system import Clock

SIGNALS: Final = {signal.SIGINT: exit_codes.INTERRUPTED, signal.SIGTERM: 0}
"""What ends a watch, and with which exit code: who stops a service has asked for just that."""


class StoppedError(Exception):
    """The watch was asked to end."""

    def __init__(self, signum: signal.Signals) -> None:
        """Keep which signal asked."""
        super().__init__(signum.name)
        self.name, self.exit_code = signum.name, SIGNALS[signum]


@dataclass(slots=True)
class Stop:
    """Whether somebody has asked the process to end."""

    _asked: signal.Signals | None = field(default=None, init=False)  # None: nobody has
    _is_waiting: bool = field(default=False, init=False)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals, and give them back."""
        before = {each: signal.signal(each, self._ask) for each in SIGNALS}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def check(self) -> None:
        """End here, if somebody has asked.

        Raises:
            StoppedError: somebody has.
        """
        if self._asked is not None:
            raise StoppedError(self._asked)

    def wait_s(self, clock: Clock, seconds: float) -> None:
        """Return after that many seconds.

        Raises:
            StoppedError: somebody has asked to end, before or meanwhile.
        """
        self._is_waiting = True  # From here on the signal itself raises.
        self.check()
        clock.wait_s(seconds)
        self._is_waiting = False

    def _ask(self, signum: int, frame: FrameType | None) -> None:
        del frame
        if self._asked is not None and signum == signal.SIGINT:
            raise KeyboardInterrupt
        self._asked = signal.Signals(signum)
        if self._is_waiting:
            self.check()


def watched(
    mirror_once: Callable[[Callable[[], None]], MirrorReceipt],
    stop: Stop,
    clock: Clock,
    *,
    interval_s: float,
    upto: int | None,  # None: for ever
) -> Iterator[MirrorReceipt]:
    """Yield the receipt of each round, until `upto` has landed.

    Raises:
        StoppedError: somebody has asked to end; what has landed has landed.
    """
    while True:
        receipt = mirror_once(stop.check)
        yield receipt
        if upto is not None and receipt.version is not None and receipt.version >= upto:
            return
        stop.wait_s(clock, interval_s)
