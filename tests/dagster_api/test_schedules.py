"""What schedules promise: each tick changes once, across changes of the clock and whoever launches it.

Dagster's whole scheduler is in `test_scheduler.py`.
"""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
from dagster._utils.schedules import schedule_execution_time_iterator

from seriatim.dagster import IcebergCatalog, tick_tags
from tests.dagster_api.accounts import balances, deposit, told
from tests.dagster_api.scheduler import utc
from tests.dagster_api.timed import hourly, nightly

PRAGUE = ZoneInfo("Europe/Prague")
SPRING, AUTUMN = datetime(2026, 3, 29, tzinfo=PRAGUE), datetime(2026, 10, 25, tzinfo=PRAGUE)


@pytest.mark.parametrize(
    ("schedule", "day", "local_times"),
    [
        (nightly, SPRING, ["29 03:00", "30 02:30", "31 02:30"]),
        (nightly, AUTUMN, ["25 02:30", "26 02:30", "27 02:30"]),
        (hourly, SPRING, ["29 00:00", "29 01:00", "29 03:00", "29 04:00"]),
        (hourly, AUTUMN, ["25 00:00", "25 01:00", "25 02:00", "25 02:00", "25 03:00"]),
    ],
    ids=["nightly in spring", "nightly in autumn", "hourly in spring", "hourly in autumn"],
)
def test_each_tick_has_a_name_of_its_own_across_changes_of_the_clock(
    schedule: dg.ScheduleDefinition, day: datetime, local_times: list[str]
) -> None:
    """02:30 is left out in spring and comes twice in autumn: the nightly tick takes place once, by Dagster's own count.

    Both hours from two to three are ticks by themselves of a schedule that is hourly: their names are in UTC.
    """
    assert isinstance(schedule.cron_schedule, str)
    ticks = schedule_execution_time_iterator(day.timestamp(), schedule.cron_schedule, schedule.execution_timezone)

    found = list(islice(ticks, len(local_times)))

    assert [f"{at.astimezone(PRAGUE):%d %H:%M}" for at in found] == local_times
    assert len({tick_tags("any", at)[".dagster/scheduled_execution_time"] for at in found}) == len(local_times)


def test_both_ticks_of_one_local_hour_change_once_each(catalog: IcebergCatalog) -> None:
    """Each of them launched twice: at the same wall-clock time, but not at the same time."""
    for hour in ("00", "01"):
        for _ in range(2):
            tags = tick_tags("hourly", utc(f"2026-10-25T{hour}:00:00"))
            assert utc(f"2026-10-25T{hour}:00:00").astimezone(PRAGUE).hour == 2
            dg.materialize([deposit()], resources={"catalog": catalog}, tags=tags)

    assert balances(catalog)[1] == 120


def test_a_missed_tick_that_is_launched_by_several_changes_once(catalog: IcebergCatalog) -> None:
    """By the sensor, by the scheduler that came back, and by hand with the tick's tags."""
    tags = tick_tags("nightly", utc("2026-11-02T01:30:00"))
    results = [dg.materialize([deposit()], resources={"catalog": catalog}, tags=tags) for _ in range(3)]

    assert balances(catalog)[1] == 110
    assert [told(result, "deposit")["already_applied"] for result in results] == [False, True, True]
