"""A schedule that leaves a tick out while a run of its job is in progress."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import dagster as dg

_IN_PROGRESS: Final = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)


def skip_if_running(
    *,
    name: str,
    job: dg.JobDefinition | dg.UnresolvedAssetJobDefinition,
    cron_schedule: str | Sequence[str],
    execution_timezone: str | None = None,
    description: str | None = None,
    default_status: dg.DefaultScheduleStatus = dg.DefaultScheduleStatus.STOPPED,
) -> dg.ScheduleDefinition:
    """Return a schedule whose tick launches `job`, or names the run of it that is in progress, whoever launched that.

    For work of which a second run would be a waste, not to keep runs from overlapping: a run may be launched by hand
    between the look and the launch, and a step may outlive its run. A run that Dagster takes for running although its
    process is gone stands in the way until run monitoring, or somebody, ends it.
    """

    @dg.schedule(
        name=name,
        job=job,
        cron_schedule=cron_schedule,
        execution_timezone=execution_timezone,
        description=description,
        default_status=default_status,
    )
    def launch_unless_running(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        in_progress = dg.RunsFilter(job_name=job.name, statuses=_IN_PROGRESS)
        running = context.instance.get_runs(in_progress, limit=1)
        if running:
            return dg.SkipReason(f"run {running[0].run_id} of {job.name} is {running[0].status.value.lower()}")
        return dg.RunRequest()

    return launch_unless_running
