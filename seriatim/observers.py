"""Observers for everyday use: to the log, and to several at once."""

from __future__ import annotations

import logging

from seriatim.commit.observe import AttemptBegun, Event, GaveUp, Landed, Observer, OutcomeLookedUp, Reapplied, Rebased
from seriatim.commit.receipt import Conflict


class Several:
    """Tells each of several observers, in order."""

    def __init__(self, *observers: Observer) -> None:
        """Tell these."""
        self._observers = observers

    def notify(self, event: Event) -> None:
        """Pass the event on."""
        for observer in self._observers:
            observer.notify(event)


class LogObserver:
    """Says each event in one line: conflicts and what follows as info, giving up as error, the rest as debug."""

    def __init__(self, logger: logging.Logger) -> None:
        """Write to `logger`."""
        self._logger = logger

    def notify(self, event: Event) -> None:
        """Write the line."""
        level, line = _line(event)
        self._logger.log(level, "%s", line)


def _line(event: Event) -> tuple[int, str]:
    level, line = logging.DEBUG, ""
    match event:
        case AttemptBegun():
            line = f"attempt {event.attempt} on snapshot {event.base_snapshot_id}"
        case Conflict():
            winner = f"run {event.winner.run_id}" if event.winner and event.winner.run_id else "another commit"
            moved = f"computed from snapshot {event.expected_snapshot_id}, met {event.actual_snapshot_id}"
            level, line = (
                logging.INFO,
                f"attempt {event.attempt} lost to {winner}, {event.wasted_s:.3f} s wasted; {moved}",
            )
        case Rebased():
            moved = f"from snapshot {event.from_snapshot_id} to {event.to_snapshot_id}"
            level, line = logging.INFO, f"nothing read has changed {moved}, so attempt {event.attempt} keeps the change"
        case Reapplied():
            moved = f"from snapshot {event.from_snapshot_id} to {event.to_snapshot_id}"
            level, line = logging.INFO, f"what was read may have changed {moved}: computed again for {event.attempt}"
        case OutcomeLookedUp():
            line = f"snapshots {event.snapshot_ids}: {event.outcome.value}"
        case Landed(receipt):
            return level, f"{receipt.table}: landed as snapshots {receipt.snapshot_ids}"
        case GaveUp():
            level, line = logging.ERROR, f"gave up: {type(event.error).__name__}: {event.error}"
    return level, f"{event.table}: {line}"
