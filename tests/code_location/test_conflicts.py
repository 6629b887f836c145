"""A conflict is emitted by the run that lost, and recorded once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import dagster as dg
import pytest

from assets.account_table import ACCOUNT_KEY
from assets.tables import CONFLICTS_KEY, CONFLICTS_TABLE
from pipelines.resources import BankCatalog
from pipelines.sensors import record_conflicts as sensor
from seriatim.dagster import ConflictEvent, conflict_observation, conflict_sensor, record_conflicts
from tests.code_location.scene import RacedResource, Scene, metadata_of

EVENT = ConflictEvent(
    event_id="e1",
    table="bank.account",
    attempt=1,
    loser_run_id="loser",
    loser_operation_ids=("bank/loan@1",),
    winner_run_id="winner",
    winner_operation_ids=("bank/pension@1",),
    winner_snapshot_id=2,
    expected_snapshot_id=1,
    actual_snapshot_id=2,
    wasted_ms=3,
    occurred_at_ms=725_846_400_000,
)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


@dataclass(frozen=True)
class Tick:
    """What the daemon gets from an evaluation of the sensor."""

    reason: str | None
    cursor: str | None
    counts: Sequence[tuple[object, object]]  # Of each materialization of the conflicts table: recorded, in all.


def tick(
    instance: dg.DagsterInstance,
    cursor: str | None = None,
    *,
    of: dg.SensorDefinition = sensor,
    catalog: object = None,
) -> Tick:
    """Evaluate the sensor once, as the daemon does."""
    resources = {"catalog": catalog or BankCatalog()}
    result = of.evaluate_tick(dg.build_sensor_context(instance=instance, cursor=cursor, resources=resources))
    assert not result.run_requests
    assert all(event.asset_key == CONFLICTS_KEY for event in result.asset_events)
    told = [{name: entry.value for name, entry in event.metadata.items()} for event in result.asset_events]
    counts = [(each["conflicts_recorded"], each["dagster/row_count"]) for each in told]
    return Tick(result.skip_message, result.cursor, counts)


def emit(instance: dg.DagsterInstance, *event_ids: str) -> None:
    """Put conflicts into the event log as a run does."""
    for event_id in event_ids:
        instance.report_runless_asset_event(conflict_observation(replace(EVENT, event_id=event_id), ACCOUNT_KEY))


def emit_unreadable(instance: dg.DagsterInstance) -> None:
    """Put an event into the log that says it is a conflict and is not."""
    instance.report_runless_asset_event(dg.AssetObservation(ACCOUNT_KEY, metadata={"seriatim/event": "conflict"}))


def test_a_lost_attempt_is_an_event_of_the_table_and_a_row_of_bank_conflicts(
    scene: Scene, instance: dg.DagsterInstance
) -> None:
    """Who lost, who won, both runs and operations, the snapshots: from the real commits to the row."""
    won: list[dg.ExecuteInProcessResult] = []
    scene.open_accounts()
    (opened,) = scene.snapshots()
    lost = scene.post("household", instance=instance, rival=lambda: won.append(scene.post("cash_deposit")))

    result = tick(instance)

    assert result.reason == "recorded 1 conflict of 1 run"
    (row,) = scene.conflicts()
    winning, *_ = [each for each in scene.snapshots() if each.parent_snapshot_id == opened.snapshot_id]
    assert (row["loser_run_id"], row["loser_operation_ids"]) == (lost.run_id, '["bank/household@2"]')
    assert (row["winner_run_id"], row["winner_operation_ids"]) == (won[0].run_id, '["bank/cash_deposit@2"]')
    assert (row["expected_snapshot_id"], row["winner_snapshot_id"]) == (opened.snapshot_id, winning.snapshot_id)
    assert str(row["actual_snapshot_id"]) == metadata_of(won[0])["committed_snapshot_id"]
    assert (row["table"], row["attempt"]) == ("bank.account", 1)


def test_a_run_without_a_home_says_where_its_conflicts_are(
    scene: Scene, instance: dg.DagsterInstance, capfd: pytest.CaptureFixture[str]
) -> None:
    """No sensor will ever read them."""
    scene.post("household", instance=instance)

    assert "DAGSTER_HOME is not set" in capfd.readouterr().err


def test_a_run_with_a_home_does_not(scene: Scene, capfd: pytest.CaptureFixture[str]) -> None:
    """There, they are in the event log."""
    with dg.instance_for_test(temp_dir=str(scene.folder)) as lasting:
        scene.post("household", instance=lasting)

    assert "DAGSTER_HOME is not set" not in capfd.readouterr().err


def test_the_ui_shows_the_count(scene: Scene, instance: dg.DagsterInstance) -> None:
    """A tick that records something materializes the conflicts table's asset."""
    emit(instance, "e1", "e2")
    first = tick(instance)
    emit(instance, "e3")

    second = tick(instance, first.cursor)

    assert (first.counts, second.counts) == ([(2, 2)], [(1, 3)])


def test_a_second_tick_records_nothing_again(scene: Scene, instance: dg.DagsterInstance) -> None:
    """Not with the cursor of the first, and not without it: the daemon may die before it stores the cursor."""
    emit(instance, "e1", "e2")
    first = tick(instance)
    before = scene.catalog().load_table(CONFLICTS_TABLE).metadata.snapshots

    for cursor in (first.cursor, None):
        again = tick(instance, cursor)

        assert (again.reason, again.cursor, again.counts) == ("no new conflicts", first.cursor, [])
    assert [row["event_id"] for row in scene.conflicts()] == ["e1", "e2"]
    assert scene.catalog().load_table(CONFLICTS_TABLE).metadata.snapshots == before


def test_two_sensors_that_race_record_each_conflict_once(scene: Scene, instance: dg.DagsterInstance) -> None:
    """The loser sees the winner's rows when it computes again, and appends only what is left."""
    emit(instance, "e1", "e2", "e3")
    record_conflicts(scene.catalog(), CONFLICTS_TABLE, [replace(EVENT, event_id="e0")])  # The table has a history.

    def rival() -> None:
        record_conflicts(scene.catalog(), CONFLICTS_TABLE, [replace(EVENT, event_id="e2")])

    result = tick(instance, catalog=RacedResource(rival))

    assert result.reason == "recorded 2 conflicts of 1 run"
    assert sorted(row["event_id"] for row in scene.conflicts()) == ["e0", "e1", "e2", "e3"]


def test_its_own_conflicts_are_not_recorded(scene: Scene, instance: dg.DagsterInstance) -> None:
    """Each would make another; the event log holds none of them after a race."""
    emit(instance, "e1")
    record_conflicts(scene.catalog(), CONFLICTS_TABLE, [replace(EVENT, event_id="e0")])
    tick(
        instance,
        catalog=RacedResource(
            lambda: record_conflicts(scene.catalog(), CONFLICTS_TABLE, [replace(EVENT, event_id="e2")])
        ),
    )

    assert len(instance.fetch_observations(CONFLICTS_KEY, limit=10).records) == 0
    assert len(instance.fetch_observations(ACCOUNT_KEY, limit=10).records) == 1


def test_an_unreadable_event_does_not_stop_the_others(scene: Scene, instance: dg.DagsterInstance) -> None:
    """It is told once, and the cursor goes past it."""
    emit(instance, "e1")
    emit_unreadable(instance)
    emit(instance, "e2")

    first = tick(instance)
    second = tick(instance, first.cursor)

    assert first.reason is not None
    assert first.reason.startswith("recorded 2 conflicts of 1 run; 1 unreadable event skipped: event ")
    assert second.reason == "no new conflicts"
    assert [row["event_id"] for row in scene.conflicts()] == ["e1", "e2"]


def test_what_others_observe_of_the_table_is_no_conflict(scene: Scene, instance: dg.DagsterInstance) -> None:
    """Anybody may observe an asset; no table is made for it."""
    instance.report_runless_asset_event(dg.AssetObservation(ACCOUNT_KEY, metadata={"rows": 7}))

    assert tick(instance).reason == "no new conflicts"
    assert CONFLICTS_TABLE not in scene.catalog().list_tables("bank")


def test_a_tick_takes_a_bounded_batch_and_the_next_goes_on(scene: Scene, instance: dg.DagsterInstance) -> None:
    """Also when everything before the cursor lies in the overlap."""
    small = conflict_sensor(
        name="small",
        asset_key=ACCOUNT_KEY,
        conflicts_key=CONFLICTS_KEY,
        identifier=CONFLICTS_TABLE,
        batch_max=2,
        overlap=1_000,
    )
    emit(instance, "e1", "e2", "e3", "e4", "e5")
    cursor, reasons = None, []
    for _ in range(4):
        result = tick(instance, cursor, of=small)
        cursor = result.cursor
        reasons.append(result.reason)

    two = "recorded 2 conflicts of 1 run"
    assert reasons == [two, two, "recorded 1 conflict of 1 run", "no new conflicts"]
    assert sorted(row["event_id"] for row in scene.conflicts()) == ["e1", "e2", "e3", "e4", "e5"]


def test_an_event_that_shows_late_is_found_in_the_overlap(scene: Scene, instance: dg.DagsterInstance) -> None:
    """Some event stores give out ids before they commit: an id below the cursor may come to light after it."""
    emit(instance, "late", "e1")
    late, seen = instance.fetch_observations(ACCOUNT_KEY, limit=10, ascending=True).records
    assert late.storage_id < seen.storage_id

    result = tick(instance, cursor=str(seen.storage_id))

    assert result.reason == "recorded 2 conflicts of 1 run"


def test_the_cursor_stays_when_nothing_could_be_recorded(scene: Scene, instance: dg.DagsterInstance) -> None:
    """The tick fails; the next one finds the same events."""
    emit(instance, "e1")
    with pytest.raises(ConnectionError):
        tick(instance, catalog=Unreachable())

    assert tick(instance).reason == "recorded 1 conflict of 1 run"


class Unreachable:
    """Stands for the catalog resource while the catalog is away."""

    def load(self) -> None:
        raise ConnectionError("the catalog is away")
