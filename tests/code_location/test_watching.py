"""The bank's own sensors that watch: alerts on its limits, and what of a failed posting has landed."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest

from assets.account_table import ACCOUNT_KEY
from pipelines.definitions import defs
from pipelines.resources import ALERT_URL, Alerts, BankCatalog
from pipelines.sensors import alert_on_conflicts, tell_failures
from seriatim.dagster import conflict_observation
from seriatim.system import SystemClock
from tests.code_location.scene import Scene
from tests.dagster_api.event_log import NOON_MS, conflict


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def test_the_sensors_find_their_resources() -> None:
    """A sensor that lacks one fails at its first tick, and not before."""
    for sensor in defs.sensors or []:
        assert isinstance(sensor, dg.SensorDefinition)
        assert sensor.required_resource_keys <= set(defs.resources or {})


def test_of_a_posting_that_is_called_failed_it_is_said_what_has_landed(
    scene: Scene, instance: dg.DagsterInstance
) -> None:
    """One lost its process after the commit, as run monitoring finds it; the other failed before."""
    cursor = _tick(instance, None).cursor
    landed = scene.post("cash_deposit", upto=1, instance=instance)
    run = instance.get_run_by_id(landed.run_id)
    assert run is not None
    instance.report_run_failed(run)

    scene.arrive("7,1,1993-01-04,no_such_kind,1.00")
    scene.mirror()
    scene.post("household", instance=instance)

    told = [
        {name: entry.value for name, entry in event.metadata.items()} for event in _tick(instance, cursor).asset_events
    ]

    assert [each["verdict"] for each in told] == ["landed", "not_landed"]
    assert list(told[0]["landed"]) == ["bank/cash_deposit@1"]
    assert told[1]["not_landed"] == ["bank/household@..."]


def _tick(instance: dg.DagsterInstance, cursor: str | None) -> dg.SensorExecutionData:
    resources = {"catalog": BankCatalog()}
    return tell_failures.evaluate_tick(dg.build_sensor_context(instance=instance, cursor=cursor, resources=resources))


def test_a_commit_that_needs_more_than_twenty_attempts_is_an_alert(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Without an address, in the log."""
    monkeypatch.delenv(ALERT_URL, raising=False)
    now_s = (SystemClock().now_ms() - NOON_MS) / 1000
    for attempt in (19, 20):
        event = conflict(now_s, attempt=attempt)
        instance.report_runless_asset_event(conflict_observation(event, ACCOUNT_KEY))

    context = dg.build_sensor_context(instance=instance, resources={"alerts": Alerts()})
    said = alert_on_conflicts.evaluate_tick(context).skip_message

    assert said is not None
    assert "a commit lost 20 attempts, so it needs more than 20" in said
    assert said in caplog.messages


def test_the_address_of_the_environment_is_where_alerts_go(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ALERT_URL, "no address")
    now_s = (SystemClock().now_ms() - NOON_MS) / 1000
    instance.report_runless_asset_event(conflict_observation(conflict(now_s, attempt=20), ACCOUNT_KEY))

    context = dg.build_sensor_context(instance=instance, resources={"alerts": Alerts()})

    assert "its url is not http(s)" in (alert_on_conflicts.evaluate_tick(context).skip_message or "")
