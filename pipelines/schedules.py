"""Every job posts what is new at the same minute of the night: they overlap on purpose. Upkeep does not.

All of them are off until somebody switches them on. A transaction is posted once, whatever launches the run.
"""

from __future__ import annotations

from typing import Final

import dagster as dg

from pipelines.jobs import posting_jobs, upkeep
from seriatim.dagster import skip_if_running

daily_schedules: Final = [
    dg.ScheduleDefinition(
        name=f"{job.name}_daily",
        job=job,
        cron_schedule="0 2 * * *",
        execution_timezone="UTC",
        description="Posts what has been mirrored by 02:00 UTC, at the same minute as all the others.",
        default_status=dg.DefaultScheduleStatus.STOPPED,
    )
    for job in posting_jobs
]
upkeep_daily: Final = skip_if_running(
    name="upkeep_daily",
    job=upkeep,
    cron_schedule="0 4 * * *",
    execution_timezone="UTC",
    description="Keeps the tables in order at 04:00 UTC, when the night's postings are done; it may run beside them. "
    "A second upkeep would find nothing to do, so there is none while one is in progress.",
)
