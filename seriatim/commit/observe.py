"""How the world outside hears what the loop does: one protocol, one frozen value per event."""

from __future__ import annotations

from typing import Protocol

from seriatim.commit.receipt import Conflict


class Observer(Protocol):
    """Somebody who wants to know, at once, of each conflict."""

    def conflict(self, event: Conflict) -> None:
        """Take note of an attempt that lost; called before the next attempt begins."""
        ...


class Silent:
    """An observer that takes no note."""

    def conflict(self, event: Conflict) -> None:
        """Do nothing."""
