"""Dagster's scheduler on our schedules: changes of the clock, ticks that were missed, ticks that are left out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import dagster as dg
import pytest

from seriatim.dagster import missed_ticks_sensor, tick_tags
from tests.dagster_api.scheduler import Scheduler, open_scheduler, utc
from tests.dagster_api.timed import CLOCK, hourly, nightly, two_at_once
from tests.faults.clock import ManualClock

pytestmark = pytest.mark.slow

PRAGUE = ZoneInfo("Europe/Prague")
SPRING, AUTUMN = datetime(2026, 3, 29, tzinfo=PRAGUE), datetime(2026, 10, 25, tzinfo=PRAGUE)


@pytest.fixture(scope="module")
def one_scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scheduler]:
    """One for all tests, since its databases cost a second."""
    with open_scheduler(tmp_path_factory.mktemp("home")) as scheduler:
        yield scheduler


@pytest.fixture
def scheduler(one_scheduler: Scheduler) -> Scheduler:
    """The scheduler, with no run, no tick and all schedules off."""
    one_scheduler.forget()
    return one_scheduler


def steps(scheduler: Scheduler, schedule: str, begin: datetime, *, hours: int, every_hours: int = 1) -> list[datetime]:
    """Switch a schedule on, let the scheduler look now and then, and return the local times of what it launched."""
    start = begin.astimezone(UTC)
    scheduler.switch_on(schedule, start)
    for hour in range(0, hours + 1, every_hours):
        scheduler.step(start + timedelta(hours=hour))
    return [at.astimezone(PRAGUE) for at in scheduler.launched(schedule)]


@pytest.mark.parametrize(("day", "expected"), [(SPRING, "03:00"), (AUTUMN, "02:30")], ids=["spring", "autumn"])
def test_a_nightly_tick_takes_place_once_also_when_its_minute_does_not_or_twice(
    scheduler: Scheduler, day: datetime, expected: str
) -> None:
    """02:30 is left out in spring, and comes twice in autumn."""
    launched = steps(scheduler, "nightly", day - timedelta(hours=22), hours=50, every_hours=2)

    assert [f"{at:%d %H:%M}" for at in launched] == [
        f"{day - timedelta(days=1):%d} 02:30",
        f"{day:%d} {expected}",
        f"{day + timedelta(days=1):%d} 02:30",
    ]


@pytest.mark.parametrize(
    ("day", "local_hours"), [(SPRING, [1, 3, 4]), (AUTUMN, [1, 2, 2, 3])], ids=["spring", "autumn"]
)
def test_an_hourly_tick_takes_place_once_in_each_hour_that_there_is(
    scheduler: Scheduler, day: datetime, local_hours: list[int]
) -> None:
    """Both hours from two to three in autumn are ticks of their own: their times are in UTC."""
    launched = steps(scheduler, "hourly", day.replace(minute=30), hours=len(local_hours))

    assert [at.hour for at in launched] == local_hours
    assert len({at.astimezone(UTC) for at in launched}) == len(local_hours)


def test_of_ticks_that_the_daemon_missed_it_does_the_latest(scheduler: Scheduler) -> None:
    """Nine nights away, one run."""
    scheduler.switch_on("nightly", utc("2026-11-01T00:00:00"))
    scheduler.step(utc("2026-11-01T01:30:10"))
    scheduler.restart()
    scheduler.step(utc("2026-11-10T12:00:00"))

    assert scheduler.launched("nightly") == [utc("2026-11-01T01:30:00"), utc("2026-11-10T01:30:00")]


def test_of_a_schedule_over_partitions_of_assets_it_does_the_latest_too(scheduler: Scheduler) -> None:
    """The others are a backfill's: a partition is applied once, whoever launches it."""
    scheduler.switch_on("each_day", utc("2026-11-01T00:00:00"))
    scheduler.step(utc("2026-11-10T12:00:00"))

    assert [tags["dagster/partition"] for tags in scheduler.tags("each_day")] == ["2026-11-09"]


class Missed:
    """The sensor of missed ticks, evaluated when the test says so."""

    def __init__(self, scheduler: Scheduler, schedule: dg.ScheduleDefinition, *, ticks_max: int = 20) -> None:
        self._instance, self._clock, self._name = scheduler.instance, ManualClock(), schedule.name
        self._sensor = missed_ticks_sensor(schedule=schedule, ticks_max=ticks_max, clock=self._clock)
        self._cursor: str | None = None

    def evaluate(self, at: datetime) -> tuple[list[dict[str, str]], str]:
        """Return the tags of the runs that are requested, and what the tick says."""
        self._clock.seconds = at.timestamp()
        result = self._sensor.evaluate_tick(dg.build_sensor_context(instance=self._instance, cursor=self._cursor))
        self._cursor = result.cursor
        assert all(request.run_key is None for request in result.run_requests or [])
        tags = [dict(request.tags) for request in result.run_requests or []]
        assert all(each.pop("dagster/sensor_name") == f"{self._name}_missed" for each in tags)
        return tags, result.skip_message or ""


def test_missed_ticks_are_launched_under_their_own_names(scheduler: Scheduler) -> None:
    """All but the first, which took place, and the last, which the scheduler has seen to; and once."""
    missed = Missed(scheduler, nightly)
    scheduler.switch_on("nightly", utc("2026-11-01T00:00:00"))
    missed.evaluate(utc("2026-11-01T00:00:00"))
    scheduler.step(utc("2026-11-01T01:30:10"))
    scheduler.restart()
    scheduler.step(utc("2026-11-05T12:00:00"))

    found, _ = missed.evaluate(utc("2026-11-05T12:00:00"))
    again = missed.evaluate(utc("2026-11-05T12:05:00"))

    assert found == [tick_tags("nightly", utc(f"2026-11-0{day}T01:30:00")) for day in (2, 3, 4)]
    assert again == ([], "of 0 ticks of late, none was missed")
    assert scheduler.launched("nightly") == [utc(f"2026-11-0{day}T01:30:00") for day in (1, 5)]


def test_dagsters_daemon_launches_what_the_sensor_finds_missed(scheduler: Scheduler) -> None:
    """Its runs are the ticks', by the tags that they carry; the scheduler launches none of them again."""
    scheduler.switch_on("hourly", utc("2026-11-01T00:30:00"))
    for at in ("2026-11-01T00:30:00", "2026-11-01T02:30:00"):
        CLOCK.seconds = utc(at).timestamp()
        scheduler.sense("hourly_missed", utc(at))
    scheduler.step(utc("2026-11-01T02:31:00"))

    assert scheduler.launched("hourly") == [utc("2026-11-01T01:00:00"), utc("2026-11-01T02:00:00")]
    assert {tags["dagster/sensor_name"] for tags in scheduler.tags("hourly")} == {"hourly_missed"}


def test_many_missed_ticks_are_launched_in_batches_the_oldest_first(scheduler: Scheduler) -> None:
    missed = Missed(scheduler, hourly, ticks_max=10)
    scheduler.switch_on("hourly", utc("2026-11-01T00:30:00"))
    missed.evaluate(utc("2026-11-01T00:30:00"))

    batches = [missed.evaluate(utc("2026-11-02T00:30:00"))[0] for _ in range(4)]

    assert [len(batch) for batch in batches] == [10, 10, 4, 0]
    assert batches[0][0] == tick_tags("hourly", utc("2026-11-01T01:00:00"))


def test_a_tick_is_not_missed_while_it_may_come_yet_or_while_the_schedule_is_off(scheduler: Scheduler) -> None:
    """Nor one of the time before it was switched on."""
    missed = Missed(scheduler, hourly)
    assert missed.evaluate(utc("2026-11-01T00:30:00")) == ([], "hourly is off")
    assert missed.evaluate(utc("2026-11-01T05:30:00")) == ([], "hourly is off")
    scheduler.switch_on("hourly", utc("2026-11-01T06:30:00"))

    assert missed.evaluate(utc("2026-11-01T07:14:59"))[0] == []
    assert missed.evaluate(utc("2026-11-01T07:15:00"))[0] == [tick_tags("hourly", utc("2026-11-01T07:00:00"))]


def test_each_run_of_a_missed_tick_keeps_its_own_key(scheduler: Scheduler) -> None:
    missed = Missed(scheduler, two_at_once)
    scheduler.switch_on("two_at_once", utc("2026-11-01T00:00:00"))
    missed.evaluate(utc("2026-11-01T00:00:00"))

    found, _ = missed.evaluate(utc("2026-11-01T12:00:00"))

    assert [tags["dagster/run_key"] for tags in found] == ["north", "south"]


def test_the_tags_are_those_that_the_scheduler_sets(scheduler: Scheduler) -> None:
    """Otherwise the change would land once more under another name."""
    scheduler.switch_on("two_at_once", utc("2026-11-01T00:00:00"))
    scheduler.step(utc("2026-11-01T06:00:10"))
    at = utc("2026-11-01T06:00:00")

    set_by_dagster = scheduler.tags("two_at_once")

    for key in ("north", "south"):
        ours = tick_tags("two_at_once", at, key)
        assert any(ours.items() <= theirs.items() for theirs in set_by_dagster)


def test_a_tick_is_left_out_while_a_run_of_its_job_is_in_progress(scheduler: Scheduler) -> None:
    """It says which; when that has ended, the next tick launches one."""
    scheduler.switch_on("alone", utc("2026-11-01T00:00:00"))
    scheduler.step(utc("2026-11-01T03:00:10"))
    scheduler.step(utc("2026-11-02T03:00:10"))
    (run,) = scheduler.instance.get_runs()
    scheduler.instance.report_run_canceled(run)
    scheduler.step(utc("2026-11-03T03:00:10"))

    assert scheduler.said("alone") == ["", f"run {run.run_id} of deposit_job is queued", ""]
    assert scheduler.launched("alone") == [utc("2026-11-01T03:00:00"), utc("2026-11-03T03:00:00")]
