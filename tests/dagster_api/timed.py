"""A code location of schedules, for the test's own process."""

from __future__ import annotations

import dagster as dg

from seriatim.dagster import missed_ticks_sensor, skip_if_running
from tests.dagster_api.accounts import deposit
from tests.faults.clock import ManualClock

CLOCK = ManualClock()  # of the sensor

job = dg.define_asset_job("deposit_job", selection=["deposit"])
nightly = dg.ScheduleDefinition(name="nightly", job=job, cron_schedule="30 2 * * *", execution_timezone="Europe/Prague")
hourly = dg.ScheduleDefinition(name="hourly", job=job, cron_schedule="0 * * * *", execution_timezone="Europe/Prague")
alone = skip_if_running(name="alone", job=job, cron_schedule="0 3 * * *", execution_timezone="UTC")


@dg.schedule(job=job, cron_schedule="0 6 * * *", execution_timezone="UTC")
def two_at_once(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest]:
    """Request two runs for each tick."""
    del context
    return [dg.RunRequest(run_key=key) for key in ("north", "south")]


@dg.asset(partitions_def=dg.DailyPartitionsDefinition("2026-10-01"))
def by_day() -> None:
    """A day's work."""


days = dg.define_asset_job("days", selection=[by_day])
each_day = dg.build_schedule_from_partitioned_job(days, name="each_day", hour_of_day=1)

hourly_missed = missed_ticks_sensor(schedule=hourly, clock=CLOCK)

defs = dg.Definitions(
    assets=[deposit(), by_day],
    jobs=[job, days],
    schedules=[nightly, hourly, alone, two_at_once, each_day],
    sensors=[hourly_missed],
    resources={"catalog": dg.ResourceDefinition.none_resource()},  # No run is executed here.
)
