"""The asset that mirrors the Delta table of transactions, and the sensors that start it and what follows it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from deltalake import DeltaTable

from assets.transactions_table import TRANSACTIONS_KEY, TRANSACTIONS_TABLE
from pipelines.jobs import posting_jobs
from pipelines.resources import BankCatalog, TransactionsDelta
from pipelines.sensors import mirror_new_versions, post_what_is_mirrored
from seriatim.dagster.mirror_sensor import VERSION_TAG
from seriatim.dagster.ranges import ranges
from seriatim.mirror import delta_version_of, snapshot_of
from tests.code_location.scene import Scene, error_of, metadata_of

ROW = "7,1,1993-01-05,cash_deposit,1.00"


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def versions(scene: Scene) -> list[int | None]:
    table = scene.catalog().load_table(TRANSACTIONS_TABLE)
    return [delta_version_of(table, snapshot) for snapshot in table.metadata.snapshots]


def test_a_run_tells_what_it_landed_on_which_base_and_the_lag(scene: Scene) -> None:
    before = scene.catalog().load_table(TRANSACTIONS_TABLE).current_snapshot()
    assert before is not None
    scene.arrive(ROW)
    scene.arrive("8,1,1993-01-05,loan,-1.00")

    told = metadata_of(scene.materialize_mirror())

    assert (told["versions_landed"], told["versions_landed_count"], told["versions_found_landed"]) == ("3-4", 2, "none")
    assert (told["lag"], told["version"], told["delta_version"]) == (0, 4, 4)
    assert (told["base_version"], told["base_snapshot_id"]) == (2, str(before.snapshot_id))
    assert (told["conflicts"], told["commits"]) == (0, 1)
    table = scene.catalog().load_table(TRANSACTIONS_TABLE)
    landed = {str(version): snapshot_of(table, version) for version in (3, 4)}
    assert told["snapshots"] == {version: str(each.snapshot_id) for version, each in landed.items() if each}


def test_a_run_that_finds_nothing_new_says_so(scene: Scene) -> None:
    told = metadata_of(scene.materialize_mirror())

    assert (told["versions_landed"], told["commits"], told["lag"]) == ("none", 0, 0)
    assert versions(scene) == [0, 1, 2]


def test_overlapping_runs_land_each_version_once(scene: Scene, instance: dg.DagsterInstance) -> None:
    """A rival lands a part of them between the plan and the commit: the loser lands what is left, and tells of it."""
    scene.arrive(ROW)
    rivals: list[dg.ExecuteInProcessResult] = []

    def rival() -> None:
        rivals.append(scene.materialize_mirror())
        scene.arrive("8,1,1993-01-05,loan,-1.00")

    result = scene.materialize_mirror(instance=instance, rival=rival)
    again = scene.materialize_mirror()

    assert versions(scene) == [0, 1, 2, 3, 4]
    told = metadata_of(result)
    assert metadata_of(rivals[0])["versions_landed"] == "3"
    assert (told["versions_landed"], told["versions_found_landed"], told["conflicts"]) == ("none", "3", 1)
    assert (told["lag"], metadata_of(again)["versions_landed"]) == (1, "4")
    (conflict,) = instance.fetch_observations(TRANSACTIONS_KEY, limit=10).records
    assert conflict.asset_observation is not None
    assert conflict.asset_observation.metadata["winner_run_id"].value == rivals[0].run_id


def test_a_failure_names_the_version_and_the_operation(scene: Scene) -> None:
    """Not the newest one; those before it have landed."""
    scene.arrive(ROW)
    _use_a_type_that_iceberg_lacks(Path(scene.delta), version=4)
    _copy_commit(Path(scene.delta), version=5)

    failed = scene.materialize_mirror()

    name, message = error_of(failed)
    assert name == "UnsupportedFeatureError"
    assert "version 4 (ALTER TABLE)" in message
    assert versions(scene) == [0, 1, 2, 3]


def _use_a_type_that_iceberg_lacks(delta: Path, version: int) -> None:
    lines = (delta / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    metadata = next(json.loads(line) for line in lines if "metaData" in line)
    schema = json.loads(metadata["metaData"]["schemaString"])
    schema["fields"].append({"name": "anything", "type": "variant", "nullable": True, "metadata": {}})
    metadata["metaData"]["schemaString"] = json.dumps(schema)
    told = {"commitInfo": {"timestamp": 1, "operation": "ALTER TABLE"}}
    text = "\n".join(json.dumps(action) for action in (told, metadata))
    (delta / "_delta_log" / f"{version:020}.json").write_text(text)


def _copy_commit(delta: Path, version: int) -> None:
    told = {"commitInfo": {"timestamp": 1, "operation": "VACUUM END"}}
    (delta / "_delta_log" / f"{version:020}.json").write_text(json.dumps(told))


def test_versions_are_told_as_ranges() -> None:
    assert [ranges(each) for each in ((), (4,), (0, 1, 2), (3, 4, 6, 8, 9))] == ["none", "4", "0-2", "3-4, 6, 8-9"]


# The sensor that starts the mirror.


@dataclass(frozen=True)
class Tick:
    """What the daemon gets from an evaluation of the sensor."""

    run_key: str | None
    reason: str
    cursor: str | None
    lags: Sequence[Mapping[str, Any]]


def tick(instance: dg.DagsterInstance, cursor: str | None = None) -> Tick:
    """Evaluate the sensor once, as the daemon does."""
    resources = {"catalog": BankCatalog(), "transactions": TransactionsDelta()}
    context = dg.build_sensor_context(instance=instance, cursor=cursor, resources=resources)
    result = mirror_new_versions.evaluate_tick(context)
    keys = [request.run_key for request in result.run_requests or []]
    assert len(keys) <= 1
    lags = [{name: entry.value for name, entry in event.metadata.items()} for event in result.asset_events]
    return Tick(keys[0] if keys else None, result.skip_message or "", result.cursor, lags)


def run(instance: dg.DagsterInstance, status: dg.DagsterRunStatus, version: int) -> None:
    """Put a run into the instance as the daemon launches it of a request."""
    made = instance.create_run_for_job(
        dg.Definitions(jobs=[_nothing]).resolve_job_def("nothing"), tags={VERSION_TAG: f"bank.transactions@{version}"}
    )
    instance.handle_run_event(made.run_id, _event_of(status, made)) if status is not made.status else None


@dg.op
def _idle() -> None: ...


@dg.job(name="nothing")
def _nothing() -> None:
    _idle()


def _event_of(status: dg.DagsterRunStatus, made: dg.DagsterRun) -> dg.DagsterEvent:
    types = {
        dg.DagsterRunStatus.FAILURE: dg.DagsterEventType.RUN_FAILURE,
        dg.DagsterRunStatus.STARTED: dg.DagsterEventType.RUN_START,
    }
    return dg.DagsterEvent(event_type_value=types[status].value, job_name=made.job_name)


def test_a_new_version_starts_one_run_and_the_lag_is_told(scene: Scene, instance: dg.DagsterInstance) -> None:
    """The run key is the table and the version: however often the sensor looks, it is one run."""
    idle = tick(instance)
    scene.arrive(ROW)
    first, again = tick(instance, idle.cursor), tick(instance, idle.cursor)
    scene.mirror()
    after = tick(instance, first.cursor)

    assert (idle.run_key, idle.reason) == (None, "bank.transactions is at version 2 of 2, lag 0")
    assert first.run_key == again.run_key == "bank.transactions@3"
    assert first.lags == [{"lag": 1, "version": 2, "delta_version": 3}]
    assert after.lags == [{"lag": 0, "version": 3, "delta_version": 3}]
    assert tick(instance, after.cursor).lags == []
    assert after.run_key is None


def test_a_version_that_a_run_failed_to_land_is_tried_again_and_not_for_ever(
    scene: Scene, instance: dg.DagsterInstance
) -> None:
    """With a key of its own each time; never while a run is at it."""
    scene.arrive(ROW)
    keys = []
    for _ in range(6):
        result = tick(instance)
        keys.append(result.run_key)
        run(instance, dg.DagsterRunStatus.FAILURE, version=3)

    assert keys == ["bank.transactions@3", *(f"bank.transactions@3#{tried}" for tried in range(1, 5)), None]
    assert "6 runs have not landed it" in tick(instance).reason
    scene.arrive("8,1,1993-01-05,loan,-1.00")
    assert tick(instance).run_key == "bank.transactions@4"
    run(instance, dg.DagsterRunStatus.STARTED, version=4)
    busy = tick(instance)
    assert busy.run_key is None
    assert "is at it" in busy.reason


def test_a_mirror_that_was_rolled_back_is_brought_up_again(scene: Scene, instance: dg.DagsterInstance) -> None:
    """The version has been landed by a green run, and is not there all the same."""
    run(instance, dg.DagsterRunStatus.FAILURE, version=2)
    table = scene.catalog().load_table(TRANSACTIONS_TABLE)
    back = snapshot_of(table, 1)
    assert back is not None
    table.manage_snapshots().rollback_to_snapshot(back.snapshot_id).commit()

    assert tick(instance).run_key == "bank.transactions@2#1"


def test_a_delta_table_that_is_not_there_yet_is_waited_for(
    scene: Scene, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERIATIM_DELTA", str(scene.folder / "later"))

    result = tick(instance)

    assert result.run_key is None
    assert "nothing to mirror" in result.reason


def test_what_is_mirrored_is_posted_by_every_job_once(scene: Scene, instance: dg.DagsterInstance) -> None:
    """The run keys are of the Delta version: a run of the mirror that finds nothing new starts none anew."""
    keys = []
    for _ in range(2):
        scene.open_accounts(instance=instance)
        context = dg.build_sensor_context(instance=instance)
        requests = post_what_is_mirrored.evaluate_tick(context).run_requests or []
        keys.append({request.run_key for request in requests})

    assert keys[0] == keys[1] == {f"{job.name}@2" for job in posting_jobs}
    assert len(keys[0]) == 14


def test_delta_is_left_as_it_is(scene: Scene) -> None:
    """Mirroring and posting write to Iceberg alone."""
    before = sorted((path, path.stat().st_mtime_ns) for path in Path(scene.delta).rglob("*"))

    scene.materialize_mirror()
    scene.post("cash_deposit")

    assert sorted((path, path.stat().st_mtime_ns) for path in Path(scene.delta).rglob("*")) == before
    assert DeltaTable(scene.delta).version() == 2
