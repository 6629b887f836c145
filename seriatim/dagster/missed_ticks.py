"""The ticks of a schedule that did not take place, launched afterwards as what they would have been.

When its daemon was away, Dagster (1.13) does the latest tick of a schedule and drops those before. A run that is
launched here carries the tags of its tick, so that it has the tick's operation ids: whichever of several launches lands
first, the change lands once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, takewhile

import dagster as dg
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.scheduler.instigation import InstigatorState, ScheduleInstigatorData
from dagster._utils.schedules import schedule_execution_time_iterator

from seriatim.dagster.operation_ids import tick_tags
from seriatim.system import Clock, SystemClock


@dataclass(frozen=True, slots=True)
class Switched:
    """A schedule that is on."""

    state: InstigatorState
    since_s: float

    @classmethod
    def on(cls, instance: dg.DagsterInstance, schedule_name: str, location_name: str | None) -> Switched | None:
        """Look it up; None: it is off. Without a location's name, it is that of any."""
        for state in instance.all_instigator_state(instigator_type=InstigatorType.SCHEDULE):
            place = state.origin.repository_origin.code_location_origin.location_name
            is_it = state.instigator_name == schedule_name and location_name in (None, place)
            if is_it and state.is_running and isinstance(state.instigator_data, ScheduleInstigatorData):
                return cls(state, state.instigator_data.start_timestamp or 0.0)
        return None

    def took_place(self, instance: dg.DagsterInstance, at: datetime) -> bool:
        """Whether the scheduler has seen to the tick, be it by leaving it out or by failing."""
        second = at.timestamp()
        ticks = instance.get_ticks(
            self.state.instigator_origin_id, self.state.selector_id, after=second - 0.5, before=second + 0.5
        )
        return bool(ticks)


def missed_ticks_sensor(  # Options, by name.
    *,
    schedule: dg.ScheduleDefinition,
    name: str | None = None,
    grace_s: int = 900,
    ticks_max: int = 20,
    minimum_interval_s: int = 60,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
    clock: Clock | None = None,
) -> dg.SensorDefinition:
    """Return a sensor that launches the ticks of `schedule` that did not take place while it was on.

    What a tick launches is asked of the schedule itself, which can need no resources. A tick counts as missed when it
    is `grace_s` old; at most `ticks_max` are seen to by one evaluation, the oldest first. By default the sensor is
    named `<schedule>_missed`. The first evaluation looks back no further than itself.
    """
    clock = clock or SystemClock()

    @dg.sensor(
        name=name or f"{schedule.name}_missed",
        job=schedule.job,
        minimum_interval_seconds=minimum_interval_s,
        default_status=default_status,
        description=f"Launches the ticks of {schedule.name} that were missed, with their own operation ids.",
    )
    def launch_missed(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        now_s = clock.now_ms() // 1000
        begin_s = int(context.cursor) if context.cursor else now_s
        location = context.code_location_origin
        switched = Switched.on(context.instance, schedule.name, location.location_name if location else None)
        if switched is None:
            return dg.SensorResult(skip_reason=f"{schedule.name} is off", cursor=str(now_s))
        due = list(islice(_times(schedule, max(begin_s, int(switched.since_s)), now_s - grace_s), ticks_max))
        missed = [at for at in due if not switched.took_place(context.instance, at)]
        requests = [request for at in missed for request in requests_of(schedule, at, context.instance)]
        cursor = int(due[-1].timestamp()) if due else begin_s
        reason = None if requests else f"of {len(due)} ticks of late, none was missed"
        return dg.SensorResult(run_requests=requests or None, skip_reason=reason, cursor=str(cursor))

    return launch_missed


def requests_of(schedule: dg.ScheduleDefinition, at: datetime, instance: dg.DagsterInstance) -> list[dg.RunRequest]:
    """Return the runs that a tick of a schedule stands for, known by the tick, whoever launches them."""
    with dg.build_schedule_context(instance=instance, scheduled_execution_time=at) as context:  # It opens the instance.
        found = schedule.evaluate_tick(context)
    # A sensor's run key is for ever, a schedule's for the tick alone: here it is a tag, as the operation id needs it.
    return [
        request.with_replaced_attrs(
            run_key=None, tags={**request.tags, **tick_tags(schedule.name, at, request.run_key)}
        )
        for request in found.run_requests or []
    ]


def _times(schedule: dg.ScheduleDefinition, after_s: int, until_s: int) -> Iterator[datetime]:
    times = schedule_execution_time_iterator(after_s + 1, schedule.cron_schedule, schedule.execution_timezone or "UTC")
    until = datetime.fromtimestamp(until_s, UTC)
    return takewhile(lambda at: at <= until, times)
