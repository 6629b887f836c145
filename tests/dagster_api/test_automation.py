"""Automation conditions instead of schedules and sensors: when they request a run, and that it changes once."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import dagster as dg
import pytest

PRAGUE = ZoneInfo("Europe/Prague")
SOURCE = dg.AssetSpec("source")
UPDATED = dg.AutomationCondition.any_deps_updated()


class Bench:
    """One asset on `source`, with a condition that is evaluated when the test says so."""

    def __init__(self, instance: dg.DagsterInstance, condition: dg.AutomationCondition[Any]) -> None:
        @dg.asset(deps=[SOURCE], automation_condition=condition)
        def post() -> None:
            """Is not executed here."""

        self.instance = instance
        self.definitions = dg.Definitions(
            assets=[SOURCE, post], jobs=[dg.define_asset_job("post_job", selection=[post])]
        )
        self._cursor: dg.AutomationConditionCursor | None = None

    def update(self) -> None:
        """Tell that the source has something new."""
        self.instance.report_runless_asset_event(dg.AssetMaterialization("source"))

    def requested(self, at: datetime | None = None) -> int:
        """Evaluate the condition; return how many runs it requests."""
        result = dg.evaluate_automation_conditions(
            defs=self.definitions, instance=self.instance, cursor=self._cursor, evaluation_time=at
        )
        self._cursor = result.cursor
        return result.total_requested


def test_something_new_requests_one_run(instance: dg.DagsterInstance) -> None:
    """However many updates there were, and once: the run posts all that is new."""
    bench = Bench(instance, UPDATED)
    counts = [bench.requested()]
    bench.update()
    bench.update()
    counts += [bench.requested(), bench.requested()]

    assert counts == [0, 1, 0]


@pytest.mark.parametrize(
    ("condition", "meanwhile", "afterwards"),
    [
        (UPDATED, 1, 0),
        (UPDATED & ~dg.AutomationCondition.in_progress(), 0, 0),
        (UPDATED.since(dg.AutomationCondition.newly_requested()) & ~dg.AutomationCondition.in_progress(), 0, 1),
    ],
    ids=["overlaps", "forgets", "waits"],
)
def test_runs_overlap_unless_the_condition_waits_for_the_one_in_progress(
    instance: dg.DagsterInstance, condition: dg.AutomationCondition[Any], meanwhile: int, afterwards: int
) -> None:
    """They may overlap. To leave a run out is tuning; without `since` the update is forgotten with it."""
    bench = Bench(instance, condition)
    bench.requested()
    job = bench.definitions.resolve_job_def("post_job")
    run = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    bench.update()
    counts = [bench.requested()]
    instance.report_run_failed(run)
    counts.append(bench.requested())

    assert counts == [meanwhile, afterwards]


@pytest.mark.slow
def test_a_cron_condition_requests_one_run_per_tick_across_the_changes_of_the_clock(
    instance: dg.DagsterInstance,
) -> None:
    """02:30 is left out in spring and comes twice in autumn.

    No evaluation is at the very second of a tick: Dagster 1.13 would request a run at the next one, too.
    """
    for day in (datetime(2026, 3, 28, tzinfo=PRAGUE), datetime(2026, 10, 24, tzinfo=PRAGUE)):
        bench = Bench(instance, dg.AutomationCondition.cron_tick_passed("30 2 * * *", "Europe/Prague"))
        noon = day.replace(hour=12, second=7).astimezone(ZoneInfo("UTC"))
        bench.requested(noon)

        counts = [bench.requested(noon + timedelta(hours=hours)) for hours in range(1, 49)]

        assert sum(counts) == 2


def test_after_a_downtime_a_cron_condition_requests_one_run(instance: dg.DagsterInstance) -> None:
    """It keeps no ticks: work that each tick must do belongs to partitions."""
    bench = Bench(instance, dg.AutomationCondition.cron_tick_passed("30 2 * * *", "Europe/Prague"))
    noon = datetime(2026, 6, 1, 12, tzinfo=ZoneInfo("UTC"))
    bench.requested(noon)

    assert bench.requested(noon + timedelta(days=9)) == 1
