"""An alert is told once per window, whatever the ticks, and is not lost where it cannot be told."""

from __future__ import annotations

import json
from dataclasses import replace

import dagster as dg
import pytest

from seriatim.dagster import Alert, ConflictEvent, alert_sensor
from seriatim.dagster.alert_sensor import Progress
from seriatim.dagster.alerts import Limit, Measure, alerts_of
from seriatim.dagster.conflict_log import conflicts_since
from tests.dagster_api.accounts import TABLE_KEY
from tests.dagster_api.event_log import NOON_MS, conflict, emit, put
from tests.faults.clock import ManualClock

TWO_IN_A_MINUTE = Limit(Measure.CONFLICTS, 2, 60)
THREE_ATTEMPTS = Limit(Measure.ATTEMPTS, 3, 60)


class Listener:
    """A notifier that keeps what it is told, and that is away as often as the test says."""

    def __init__(self, *, away: int = 0) -> None:
        self.told: list[Alert] = []
        self.away = away

    def notify(self, alert: Alert) -> None:
        if self.away:
            self.away -= 1
            raise ConnectionError("nobody listens")
        self.told.append(alert)


class Bench:
    """A sensor of at most two conflicts and three attempts a minute, ticked at seconds after noon."""

    def __init__(self, instance: dg.DagsterInstance, listener: Listener) -> None:
        self.instance, self.listener = instance, listener
        self._clock = ManualClock()
        self._sensor = alert_sensor(
            name="alert", asset_key=TABLE_KEY, conflicts_max=2, attempts_max=3, window_s=60, clock=self._clock
        )
        self.cursor: str | None = None

    def tick(self, at_s: float) -> str:
        """Evaluate the sensor as the daemon does; return what the tick says."""
        self._clock.seconds = NOON_MS / 1000 + at_s
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, resources={"notifier": self.listener}
        )
        result = self._sensor.evaluate_tick(context)
        self.cursor = result.cursor
        return result.skip_message or ""

    def begins(self) -> list[float]:
        """Return when the windows begin that have been told, in seconds after noon."""
        return [(alert.begins_at_ms - NOON_MS) / 1000 for alert in self.listener.told]


@pytest.fixture
def bench(instance: dg.DagsterInstance) -> Bench:
    bench = Bench(instance, Listener())
    bench.tick(0)
    return bench


def found(*conflicts: ConflictEvent, limit: Limit = TWO_IN_A_MINUTE, after_s: float = 0) -> list[tuple[float, int]]:
    """Return when the windows begin, and how many conflicts each has."""
    alerts = alerts_of(conflicts, limit, "bank/account", after_ms=NOON_MS + round(after_s * 1000))
    return [((alert.begins_at_ms - NOON_MS) / 1000, alert.conflicts) for alert in alerts]


@pytest.mark.parametrize(
    ("at_s", "windows"),
    [
        ((), []),
        ((0, 1), []),
        ((0, 1, 2), [(0, 3)]),
        ((0, 30, 59.999), [(0, 3)]),
        ((0, 30, 60), []),  # A window ends before its end.
        ((0, 50, 70, 80), [(50, 3)]),  # It begins where it must, not where the clock's minute does.
        ((0, 1, 2, 59, 60, 61), [(0, 4)]),  # Two more are in the next one.
        ((0, 1, 2, 60, 61, 62), [(0, 3), (60, 3)]),
        ((2, 62, 0, 61, 1, 60), [(0, 3), (60, 3)]),  # Whatever the order in which they show.
    ],
)
def test_a_window_begins_at_the_first_of_too_many(at_s: tuple[float, ...], windows: list[tuple[float, int]]) -> None:
    assert found(*map(conflict, at_s)) == windows


def test_attempt_n_that_is_lost_means_that_n_are_not_enough() -> None:
    """A change that is given up is told, too: it has no commit whose attempts could be counted."""
    assert found(conflict(0, attempt=2), limit=THREE_ATTEMPTS) == []
    assert found(conflict(0, attempt=2), conflict(1, attempt=3), limit=THREE_ATTEMPTS) == [(1, 1)]


def test_what_is_told_is_not_counted_again() -> None:
    assert found(*map(conflict, (0, 1, 2, 3)), after_s=1.5) == []


def test_an_alert_says_who_lost_most_and_what_it_cost() -> None:
    conflicts = [conflict(0, loser="a"), conflict(1, loser="b"), conflict(2, loser="b", attempt=2)]

    (alert,) = alerts_of(conflicts, TWO_IN_A_MINUTE, "bank/account", after_ms=0)

    assert (alert.losers, alert.wasted_ms, alert.attempts_lost_max) == (("b", "a"), 9, 2)
    assert alert.alert_id == f"bank/account/conflicts@{NOON_MS}"
    assert "3 conflicts (more than 2)" in alert.sentence()


@pytest.mark.parametrize(
    ("measure", "most", "window_s"), [("conflicts", -1, 60), ("attempts", 0, 60), ("conflicts", 1, 0)]
)
def test_a_limit_that_cannot_be_is_refused(measure: str, most: int, window_s: int) -> None:
    with pytest.raises(ValueError, match="is no limit"):
        Limit(Measure(measure), most, window_s)
    with pytest.raises(ValueError, match="needs a limit"):
        alert_sensor(name="none", asset_key=TABLE_KEY)


def test_one_alert_per_window_and_not_one_per_tick(bench: Bench) -> None:
    """More of the same window is no news; the next window is."""
    assert bench.tick(0) == "no conflicts"
    emit(bench.instance, *map(conflict, (1, 2, 3)))
    first = bench.tick(5)
    emit(bench.instance, *map(conflict, (10, 11, 12, 13)))
    said = [bench.tick(at_s) for at_s in (15, 30, 59)]
    emit(bench.instance, *map(conflict, (62, 63, 64)))
    bench.tick(90)

    assert bench.begins() == [1, 62]
    assert first.startswith("bank/account: 3 conflicts (more than 2) from ")
    assert said == ["7 conflicts of late, within the limits or told already"] * 3


def test_both_limits_are_told_by_alerts_of_their_own(bench: Bench) -> None:
    emit(bench.instance, *(conflict(1, attempt=attempt) for attempt in (1, 2, 3)))
    bench.tick(2)

    assert [alert.limit.measure for alert in bench.listener.told] == [Measure.CONFLICTS, Measure.ATTEMPTS]


def test_what_occurs_between_two_ticks_or_while_the_daemon_is_down_is_told(bench: Bench) -> None:
    """By the first tick afterwards, each window by itself."""
    emit(bench.instance, *map(conflict, (100, 101, 102, 5_000, 5_001, 5_002)))

    bench.tick(90_000)

    assert bench.begins() == [100, 5_000]


def test_a_conflict_that_shows_late_is_counted(bench: Bench) -> None:
    """The log shows it after a tick has looked at later ones."""
    emit(bench.instance, conflict(2), conflict(3))
    bench.tick(5)
    emit(bench.instance, conflict(1))
    bench.tick(10)

    assert bench.begins() == [1]


def test_an_event_that_is_there_twice_counts_once_and_others_not_at_all(bench: Bench) -> None:
    emit(bench.instance, conflict(1), conflict(1), conflict(2))
    for metadata in ({"rows": 7}, {"seriatim/event": "conflict"}):
        put(bench.instance, dg.AssetObservation(TABLE_KEY, metadata=metadata), at_ms=NOON_MS + 3000)

    assert bench.tick(5) == "2 conflicts of late, within the limits or told already"
    assert bench.listener.told == []


def test_an_alert_that_could_not_be_told_is_told_by_the_next_tick(bench: Bench) -> None:
    """Even when that is long after and fails, too; the tick says why, and the other limit's is told."""
    bench.listener.away = 1
    emit(bench.instance, *(conflict(1, attempt=attempt) for attempt in (1, 2, 3)))

    said = bench.tick(5)
    bench.listener.away = 1
    bench.tick(50_000)
    later = bench.tick(50_010)

    assert "nobody listens; it is sent again at the next tick" in said
    assert "a commit lost 3 attempts" in said
    assert "3 conflicts (more than 2)" in later
    assert [alert.limit.measure for alert in bench.listener.told] == [Measure.ATTEMPTS, Measure.CONFLICTS]


def test_an_alert_that_is_told_twice_has_one_id(bench: Bench) -> None:
    """The daemon may die after it was told and before the cursor is stored."""
    emit(bench.instance, *map(conflict, (1, 2, 3)))
    before = bench.cursor
    bench.tick(5)
    bench.cursor = before
    emit(bench.instance, conflict(4))
    bench.tick(10)

    first, second = bench.listener.told
    assert (first.conflicts, second.conflicts) == (3, 4)
    assert first.alert_id == second.alert_id


def test_a_tick_that_told_everything_is_where_the_next_one_begins(bench: Bench) -> None:
    """So that no tick reads the whole log."""
    emit(bench.instance, *map(conflict, (1, 2, 3)))
    bench.tick(5_000)

    assert Progress.of(bench.cursor, 0).looked_at_ms == NOON_MS + 5_000_000


def test_the_log_is_read_from_a_time_on_however_long_it_is(instance: dg.DagsterInstance) -> None:
    """Page by page, the newest first."""
    emit(instance, *(conflict(at_s, event_id=f"e{at_s:04}") for at_s in range(520)))

    found = conflicts_since(instance, TABLE_KEY, NOON_MS + 10_000)

    assert sorted(each.event_id for each in found) == [f"e{at_s:04}" for at_s in range(10, 520)]


def test_the_first_tick_tells_nothing_of_what_is_long_past(instance: dg.DagsterInstance) -> None:
    emit(instance, *map(conflict, (1, 2, 3, 1_001, 1_002, 1_003)))
    bench = Bench(instance, Listener())

    bench.tick(1_010)

    assert bench.begins() == [1_001]


@pytest.mark.parametrize("cursor", ["7", "nonsense", "{}", "[]", '{"looked_at_ms": 1, "told_until_ms": {"other": 1}}'])
def test_a_cursor_of_another_sensor_is_none(cursor: str) -> None:
    assert Progress.of(cursor, 5) == Progress(5, {})


def test_a_cursor_says_what_it_was_made_of() -> None:
    progress = Progress(7, {Measure.ATTEMPTS: 9})

    assert Progress.of(progress.cursor(), 0) == progress
    assert json.loads(progress.cursor())["looked_at_ms"] == 7
    assert replace(progress, looked_at_ms=1_000_000).after_ms(THREE_ATTEMPTS) == 880_000
