"""The sensor that tells somebody when there are too many conflicts on a table, or a commit needs too many attempts.

It reads the event log, in which the run that lost puts a conflict at once. The Iceberg table that keeps conflicts is a
copy of that, made later by another sensor; an alert should depend neither on that one nor on a catalog that answers.
Each tick counts anew what the log says of the time that is not told yet, so that a conflict which shows late, or a tick
that did not take place, is counted all the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import dagster as dg

from seriatim.conflict_events import ConflictEvent
from seriatim.dagster.alerts import Alert, Limit, Measure, alerts_of
from seriatim.dagster.conflict_log import conflicts_since
from seriatim.dagster.notifiers import Notifier
from seriatim.system import Clock, SystemClock


@dataclass(frozen=True, slots=True)
class Progress:
    """What is to be remembered between two ticks: the cursor."""

    looked_at_ms: int  # What the log had then has been counted.
    told_until_ms: Mapping[Measure, int]  # No conflict before that is counted again.

    @classmethod
    def of(cls, cursor: str | None, now_ms: int) -> Progress:
        """Read a cursor; without one, or with another sensor's, no more than the last two windows are counted."""
        try:
            words = json.loads(cursor or "")
            return cls(
                int(words["looked_at_ms"]), {Measure(name): int(at) for name, at in words["told_until_ms"].items()}
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            return cls(now_ms, {})

    def cursor(self) -> str:
        """Return it as a cursor."""
        told = {measure.value: at for measure, at in self.told_until_ms.items()}
        return json.dumps({"looked_at_ms": self.looked_at_ms, "told_until_ms": told})

    def after_ms(self, limit: Limit) -> int:
        """Return from when on conflicts are to be counted: two windows, so that one which shows late is, too."""
        return max(self.looked_at_ms - 2 * limit.window_ms, self.told_until_ms.get(limit.measure, 0))

    def told(self, alert: Alert) -> Progress:
        """Return what it is when an alert has been told."""
        return replace(self, told_until_ms={**self.told_until_ms, alert.limit.measure: alert.ends_at_ms})


@dataclass(frozen=True, slots=True)
class Notified:
    """What became of the alerts of one tick."""

    progress: Progress
    told: tuple[Alert, ...]
    failed: tuple[str, ...]  # why each that could not be told could not


def alert_sensor(  # Options, by name.
    *,
    name: str,
    asset_key: dg.AssetKey,
    conflicts_max: int | None = None,
    attempts_max: int | None = None,
    window_s: int = 600,
    notifier_resource_key: str = "notifier",
    minimum_interval_s: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
    clock: Clock | None = None,
) -> dg.SensorDefinition:
    """Return a sensor that tells the `Notifier` when conflicts on `asset_key` go beyond a limit.

    One alert when more than `conflicts_max` are met within `window_s`, one when a commit needs more than `attempts_max`
    attempts; then none for that limit until the window is over. A limit of None is none. An alert that the notifier
    does not take is told in the tick, and sent again by the next; one may be sent twice, by the same `alert_id`.

    Raises:
        ValueError: there is no limit, or one that cannot be.
    """
    clock = clock or SystemClock()
    limits = [
        Limit(measure, most, window_s)
        for measure, most in ((Measure.CONFLICTS, conflicts_max), (Measure.ATTEMPTS, attempts_max))
        if most is not None
    ]
    if not limits:
        raise ValueError("an alert needs a limit: give conflicts_max, attempts_max or both")
    label = asset_key.to_user_string()

    @dg.sensor(
        name=name,
        required_resource_keys={notifier_resource_key},
        minimum_interval_seconds=minimum_interval_s,
        default_status=default_status,
        description=f"Tells when within {window_s} s there are more than "
        f"{' or '.join(f'{limit.most} {limit.measure.value}' for limit in limits)} on {label}.",
    )
    def alert(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        notifier: Notifier = getattr(context.resources, notifier_resource_key)
        now_ms = clock.now_ms()
        progress = Progress.of(context.cursor, now_ms)
        since_ms = min(progress.after_ms(limit) for limit in limits)
        conflicts = conflicts_since(context.instance, asset_key, since_ms)
        due = [
            each for limit in limits for each in alerts_of(conflicts, limit, label, after_ms=progress.after_ms(limit))
        ]
        notified = notify_all(due, notifier, progress, now_ms=now_ms)
        for reason in notified.failed:
            context.log.error(reason)
        said = _reason(notified, conflicts)
        return dg.SensorResult(cursor=notified.progress.cursor(), skip_reason=said)

    return alert


def notify_all(alerts: Sequence[Alert], notifier: Notifier, progress: Progress, *, now_ms: int) -> Notified:
    """Tell each alert; after one that cannot be told, no later one of its measure is, so that the next tick is to."""
    told: list[Alert] = []
    failed: dict[Measure, str] = {}
    reached = progress
    for alert in alerts:
        if alert.limit.measure in failed:
            continue
        try:
            notifier.notify(alert)
        except Exception as err:  # noqa: BLE001  # Whatever somebody's notifier raises: the alert is not told.
            failed[alert.limit.measure] = f"{alert.alert_id} could not be told: {err}"
            continue
        told.append(alert)
        reached = reached.told(alert)
    # Where one is not told, the next tick is to look at all of it once more.
    reached = reached if failed else replace(reached, looked_at_ms=now_ms)
    return Notified(reached, tuple(told), tuple(failed.values()))


def _reason(notified: Notified, conflicts: Sequence[ConflictEvent]) -> str:
    """Say what the tick did; Dagster shows a tick that starts no run as skipped, with this text."""
    said = [alert.sentence() for alert in notified.told]
    said += [f"{reason}; it is sent again at the next tick" for reason in notified.failed]
    quiet = f"{len(conflicts)} conflicts of late, within the limits or told already" if conflicts else "no conflicts"
    return " ".join(said) or quiet
