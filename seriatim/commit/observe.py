"""How the world outside hears what the loop does: one protocol, one frozen value per event."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Protocol

from seriatim.commit.outcome import Outcome
from seriatim.commit.receipt import Conflict, Receipt

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AttemptBegun:
    """The table was loaded, and operations are left to apply. Attempts count from 1."""

    table: str
    operation_ids: tuple[str, ...]
    attempt: int
    base_snapshot_id: int | None  # None: the branch has no snapshot yet


@dataclass(frozen=True, slots=True)
class Rebased:
    """The base moved, but nothing that was read has changed: the change is committed on the new base as it is.

    `is_replanned`: rows lie in other files now, so the change's files were written anew; it was not computed again.
    """

    table: str
    attempt: int
    from_snapshot_id: int | None
    to_snapshot_id: int | None
    is_replanned: bool


@dataclass(frozen=True, slots=True)
class Reapplied:
    """The base moved in what was read: the change was dropped and computed again."""

    table: str
    attempt: int
    from_snapshot_id: int | None
    to_snapshot_id: int | None


@dataclass(frozen=True, slots=True)
class OutcomeLookedUp:
    """A commit whose reply was not a plain yes was looked up in the table."""

    table: str
    snapshot_ids: tuple[int, ...]
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Landed:
    """The call is done: its operations are in the table, by this call or by an earlier one."""

    receipt: Receipt


@dataclass(frozen=True, slots=True)
class GaveUp:
    """The call ends with an error that is true of the table."""

    table: str
    operation_ids: tuple[str, ...]
    error: Exception


Event = AttemptBegun | Conflict | Rebased | Reapplied | OutcomeLookedUp | Landed | GaveUp


class Observer(Protocol):
    """Somebody who wants to know, at once, what a call goes through."""

    def notify(self, event: Event) -> None:
        """Take note of an event; what this raises goes to the log, and the call goes on."""
        ...


class Silent:
    """An observer that takes no note."""

    def notify(self, event: Event) -> None:
        """Do nothing."""


class Unbreakable:
    """An observer whose failure changes nothing: whether a commit landed is not a question of who has heard of it."""

    def __init__(self, observer: Observer) -> None:
        """Pass events on to `observer`."""
        self._observer = observer

    def notify(self, event: Event) -> None:
        """Pass the event on; write to the log what that raises."""
        try:
            self._observer.notify(event)
        except Exception:  # noqa: BLE001  # Whatever it is, it is not the table's.
            _log.exception("the observer %r could not take note of %s", self._observer, type(event).__name__)
