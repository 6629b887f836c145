"""Dagster's own scheduler, which takes a step when the test says so; the runs that it launches stay in the queue."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.remote_representation.external import RemoteRepository, RemoteSchedule
from dagster._core.test_utils import freeze_time
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster._daemon.sensor import execute_sensor_iteration
from dagster._scheduler.scheduler import ScheduleIterationTimes, launch_scheduled_runs

_NAME = "dagster/schedule_name"
_TIME = ".dagster/scheduled_execution_time"


@dataclass(frozen=True, slots=True)
class Scheduler:
    """The scheduler of one instance; what it remembers between two steps is kept as its daemon keeps it."""

    workspace: WorkspaceProcessContext
    remembered: dict[str, ScheduleIterationTimes]

    @property
    def instance(self) -> dg.DagsterInstance:
        """The instance."""
        return self.workspace.instance

    def switch_on(self, schedule: str, at: datetime) -> None:
        """Switch a schedule on."""
        with freeze_time(at):
            self.instance.start_schedule(self._remote(schedule))

    def step(self, at: datetime) -> None:
        """Let the scheduler look at what is due."""
        with freeze_time(at):
            list(launch_scheduled_runs(self.workspace, logging.getLogger("scheduler"), at, self.remembered))

    def sense(self, sensor: str, at: datetime) -> None:
        """Let the daemon of the sensors evaluate one, which is switched on for that."""
        with freeze_time(at):
            self.instance.start_sensor(self._repository().get_sensor(sensor))
            list(execute_sensor_iteration(self.workspace, logging.getLogger("sensors"), None, None))

    def restart(self) -> None:
        """Let the daemon end and begin again: it remembers only what the instance does."""
        self.remembered.clear()

    def forget(self) -> None:
        """Forget all runs and ticks, and switch all schedules off."""
        self.restart()
        self.instance.wipe()
        self.instance.wipe_all_schedules()

    def launched(self, schedule: str) -> list[datetime]:
        """Return the scheduled times of the runs of a schedule, in the order of time."""
        return sorted(datetime.fromisoformat(tags[_TIME]) for tags in self.tags(schedule))

    def tags(self, schedule: str) -> list[dict[str, str]]:
        """Return the tags of the runs of a schedule, those that were launched first first."""
        runs = self.instance.get_runs(dg.RunsFilter(tags={_NAME: schedule}))
        return [dict(run.tags) for run in reversed(runs)]

    def said(self, schedule: str) -> list[str]:
        """Return why ticks were left out, the first first."""
        (state,) = [
            each
            for each in self.instance.all_instigator_state(instigator_type=InstigatorType.SCHEDULE)
            if each.instigator_name == schedule
        ]
        ticks = self.instance.get_ticks(state.instigator_origin_id, state.selector_id)
        return [tick.skip_reason or "" for tick in reversed(ticks)]

    def _remote(self, schedule: str) -> RemoteSchedule:
        return self._repository().get_schedule(schedule)

    def _repository(self) -> RemoteRepository:
        (location,) = self.workspace.create_request_context().code_locations
        (repository,) = location.get_repositories().values()
        return repository


@contextmanager
def open_scheduler(home: Path) -> Iterator[Scheduler]:
    """Make an instance under `home` with the schedules of `timed.py`."""
    target = LoadableTargetOrigin(module_name="tests.dagster_api.timed", attribute="defs")
    with (
        dg.instance_for_test(temp_dir=str(home)) as instance,
        WorkspaceProcessContext(
            instance, InProcessWorkspaceLoadTarget(InProcessCodeLocationOrigin(target, location_name="timed"))
        ) as workspace,
    ):
        yield Scheduler(workspace, {})


def utc(text: str) -> datetime:
    """Return a moment in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
