"""When conflicts are worth an alert: windows of time in which there were too many, each told once.

A window opens at the first conflict of those that are too many and is as long as the limit says, wherever the clock's
own minutes and hours begin. What is in it is told by its alert; the next window begins after it. So an alert is the
same whoever finds it, and whenever: its id can be used to leave out a second copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from seriatim.conflict_events import ConflictEvent
from seriatim.times import readable


class Measure(Enum):
    """What is limited."""

    CONFLICTS = "conflicts"  # in the window
    ATTEMPTS = "attempts"  # of one commit, to be made or given up


@dataclass(frozen=True, slots=True)
class Limit:
    """More than `most` within `window_s` is worth an alert."""

    measure: Measure
    most: int
    window_s: int

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: a limit or a window that allows for nothing.
        """
        if self.window_s < 1 or self.most < (1 if self.measure is Measure.ATTEMPTS else 0):
            raise ValueError(f"{self.most} {self.measure.value} within {self.window_s} s is no limit")

    @property
    def window_ms(self) -> int:
        """How long a window is."""
        return self.window_s * 1000


@dataclass(frozen=True, slots=True)
class Alert:
    """On one table, within one window, there were more conflicts, or attempts of one commit, than the limit allows."""

    asset_key: str  # of the table
    limit: Limit
    begins_at_ms: int  # Since 1970-01-01 UTC: when its first conflict occurred; it ends `limit.window_ms` later.
    conflicts: int  # in the window, as far as they were known when the alert was made
    attempts_lost_max: int  # by one change
    wasted_ms: int  # by all of them
    losers: tuple[str, ...]  # Their run ids: the one that lost most often first.

    @property
    def alert_id(self) -> str:
        """Names the alert: one that is sent twice has the same."""
        return f"{self.asset_key}/{self.limit.measure.value}@{self.begins_at_ms}"

    @property
    def ends_at_ms(self) -> int:
        """When its window ends."""
        return self.begins_at_ms + self.limit.window_ms

    def sentence(self) -> str:
        """Return it in words, with what can be done."""
        return (
            f"{self.asset_key}: {self._what()} from {readable(self.begins_at_ms)} UTC within {self.limit.window_s} s; "
            f"{self.wasted_ms} ms of work wasted, most often by run {self.losers[0]}. Nothing is lost; let fewer runs "
            f"overlap (a pool), or make each of them read less."
        )

    def _what(self) -> str:
        match self.limit.measure:
            case Measure.CONFLICTS:
                return f"{self.conflicts} conflicts (more than {self.limit.most})"
            case Measure.ATTEMPTS:
                return f"a commit lost {self.attempts_lost_max} attempts, so it needs more than {self.limit.most},"
        assert_never(self.limit.measure)


def alerts_of(conflicts: Sequence[ConflictEvent], limit: Limit, asset_key: str, *, after_ms: int) -> tuple[Alert, ...]:
    """Return the alerts that conflicts which occurred at `after_ms` or later are worth, the earliest first."""
    left = sorted((each for each in conflicts if each.occurred_at_ms >= after_ms), key=_order)
    alerts = []
    while (first := _first_of_too_many(left, limit)) is not None:
        alerts.append(_alert(left[first:], limit, asset_key))
        left = [each for each in left[first:] if each.occurred_at_ms >= alerts[-1].ends_at_ms]
    return tuple(alerts)


def _first_of_too_many(conflicts: Sequence[ConflictEvent], limit: Limit) -> int | None:
    match limit.measure:
        case Measure.ATTEMPTS:  # Attempt n lost, so that n are not enough.
            return next((at for at, each in enumerate(conflicts) if each.attempt >= limit.most), None)
        case Measure.CONFLICTS:
            for at, (first, last) in enumerate(zip(conflicts, conflicts[limit.most :], strict=False)):
                if last.occurred_at_ms - first.occurred_at_ms < limit.window_ms:
                    return at
            return None
    assert_never(limit.measure)


def _alert(conflicts: Sequence[ConflictEvent], limit: Limit, asset_key: str) -> Alert:
    begins_at_ms = conflicts[0].occurred_at_ms
    inside = [each for each in conflicts if each.occurred_at_ms < begins_at_ms + limit.window_ms]
    lost = [each.loser_run_id for each in inside]
    return Alert(
        asset_key=asset_key,
        limit=limit,
        begins_at_ms=begins_at_ms,
        conflicts=len(inside),
        attempts_lost_max=max(each.attempt for each in inside),
        wasted_ms=sum(each.wasted_ms for each in inside),
        losers=tuple(sorted(set(lost), key=lambda run_id: (-lost.count(run_id), run_id))),
    )


def _order(conflict: ConflictEvent) -> tuple[int, str]:
    return conflict.occurred_at_ms, conflict.event_id
