"""A run that is killed as a real process, and what the bank's sensor then says of it."""

from __future__ import annotations

import sys
from pathlib import Path

import dagster as dg
import pytest

from pipelines.resources import BankCatalog
from pipelines.sensors import tell_failures
from tests.code_location.gated import Plan
from tests.code_location.station import open_station

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL, and no pipe with a name"),
]


def test_of_a_killed_run_it_is_said_whether_it_died_before_or_after_its_commit(tmp_path: Path) -> None:
    """Dagster says of both that they failed; only one of them has written nothing."""
    with open_station(tmp_path) as station:
        first = _tick(station.instance, None)
        statuses = []
        for gate, job in (("after", "post_loan"), ("before", "post_interest")):
            station.plan(**{gate: Plan.DIE})
            statuses.append(station.ended(station.launch(job)).status)
        landed_at = station.snapshot_of("bank/loan@0")

        told = [
            {name: entry.value for name, entry in event.metadata.items()}
            for event in _tick(station.instance, first.cursor).asset_events
        ]

    assert statuses == [dg.DagsterRunStatus.FAILURE] * 2
    assert [each["verdict"] for each in told] == ["landed", "not_landed"]
    assert told[0]["landed"] == {"bank/loan@0": landed_at}
    assert told[1]["not_landed"] == ["bank/interest@..."]


def _tick(instance: dg.DagsterInstance, cursor: str | None) -> dg.SensorExecutionData:
    context = dg.build_sensor_context(instance=instance, cursor=cursor, resources={"catalog": BankCatalog()})
    return tell_failures.evaluate_tick(context)
