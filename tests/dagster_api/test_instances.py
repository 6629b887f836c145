"""The two dagster.yaml of docs/examples do what their comments say: runs are queued by Dagster's own daemon."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._cli.job import _create_run
from dagster._core.instance.config import dagster_instance_config
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.test_utils import freeze_time
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster._daemon.monitoring.concurrency import execute_concurrency_slots_iteration
from dagster._daemon.run_coordinator.queued_run_coordinator_daemon import QueuedRunCoordinatorDaemon

from seriatim.system import SystemClock

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
# Dagster's launcher that starts no process: a run that is taken from the queue stays where it is.
LAUNCHER = {"run_launcher": {"module": "dagster._core.test_utils", "class": "MockedRunLauncher", "config": {}}}


@dataclass(frozen=True)
class Queue:
    """The queue of an instance that was made of dagster-local.yaml."""

    workspace: WorkspaceProcessContext

    @property
    def instance(self) -> dg.DagsterInstance:
        return self.workspace.instance

    def submit(self, *jobs: str) -> list[str]:
        """Put a run of each job into the queue; return the runs' ids."""
        request = self.workspace.create_request_context()
        (location,) = request.code_locations
        (repository,) = location.get_repositories().values()
        runs = []
        for job in jobs:
            run: dg.DagsterRun = _create_run(
                instance=self.instance,
                code_location=location,
                remote_repo=repository,
                remote_job=repository.get_full_job(job),
                run_config={},
                tags={},
                op_selection=None,
                run_id=None,
            )
            self.instance.submit_run(run.run_id, request)
            runs.append(run.run_id)
        return runs

    def dequeue(self) -> list[str]:
        """Let the daemon launch what may be; return the ids of all that are in progress, the first first."""
        with QueuedRunCoordinatorDaemon(interval_seconds=1) as daemon:
            list(daemon.run_iteration(self.workspace))
        launched = self.instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTING]))
        return [run.run_id for run in reversed(launched)]

    def end(self, run_id: str) -> None:
        """Let a run end."""
        run = self.instance.get_run_by_id(run_id)
        assert run is not None
        self.instance.report_run_failed(run)


@pytest.fixture(scope="module")
def one_queue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    """One for all tests, since its databases cost a second."""
    home = tmp_path_factory.mktemp("home")
    local = (EXAMPLES / "dagster-local.yaml").read_text(encoding="utf-8")
    (home / "dagster.yaml").write_text(f"{local}\n{json.dumps(LAUNCHER)[1:-1]}\n", encoding="utf-8")
    target = LoadableTargetOrigin(module_name="tests.dagster_api.pooled", attribute="defs")
    with (
        dg.DagsterInstance.from_config(str(home)) as instance,
        WorkspaceProcessContext(
            instance, InProcessWorkspaceLoadTarget(InProcessCodeLocationOrigin(target, location_name="pooled"))
        ) as workspace,
    ):
        yield Queue(workspace)


@pytest.fixture
def queue(one_queue: Queue) -> Queue:
    one_queue.instance.wipe()
    one_queue.instance.event_log_storage.delete_concurrency_limit("bank_account")
    return one_queue


@pytest.mark.slow
def test_no_more_runs_are_in_progress_than_the_queue_lets(queue: Queue) -> None:
    """The fifth waits until one has ended."""
    runs = queue.submit(*["free_job"] * 5)

    assert queue.dequeue() == runs[:4]
    assert queue.dequeue() == runs[:4]
    queue.end(runs[1])
    assert queue.dequeue() == [runs[0], *runs[2:]]


@pytest.mark.slow
def test_no_more_than_two_runs_of_one_table_are_in_progress(queue: Queue) -> None:
    """Runs of another table, and those that carry no tag, go past."""
    first, second, third, other, free = queue.submit(*["account_job"] * 3, "loans_job", "free_job")

    assert queue.dequeue() == [first, second, other, free]
    queue.end(second)
    assert queue.dequeue() == [first, third, other, free]


@pytest.mark.slow
def test_a_run_waits_in_the_queue_for_a_place_in_its_pool(queue: Queue) -> None:
    """Whatever asset of the pool it makes; by default a pool has one place, and another number can be set."""
    (known,) = queue.submit("pooled_job")
    queue.dequeue()
    queue.end(known)
    first, second, free = queue.submit("pooled_job", "also_pooled_job", "free_job")

    assert queue.dequeue() == [first, free]
    queue.end(first)
    assert queue.dequeue() == [second, free]
    queue.instance.event_log_storage.set_concurrency_slots("bank_account", 2)
    (third,) = queue.submit("pooled_job")
    assert queue.dequeue() == [second, free, third]


@pytest.mark.slow
def test_a_pool_that_dagster_meets_for_the_first_time_lets_all_through(queue: Queue) -> None:
    """Its default limit holds from the daemon's next look on (1.13): set the limit of a pool that matters."""
    runs = queue.submit("pooled_job", "also_pooled_job")

    assert queue.dequeue() == runs
    queue.submit("pooled_job")
    assert queue.dequeue() == runs


@pytest.mark.slow
def test_a_place_of_a_run_that_has_ended_is_freed_by_monitoring_after_a_while(queue: Queue) -> None:
    """A killed step does not give it back. Its zombie may still write by then: a pool keeps nobody from writing."""
    storage = queue.instance.event_log_storage
    storage.set_concurrency_slots("bank_account", 1)
    killed, waiting = queue.submit("pooled_job", "pooled_job")
    assert storage.claim_concurrency_slot("bank_account", killed, "pooled").is_claimed
    queue.end(killed)
    found = []
    now = datetime.fromtimestamp(SystemClock().now_ms() / 1000, UTC)
    for seconds in (1, 60):
        with freeze_time(now + timedelta(seconds=seconds)):
            list(execute_concurrency_slots_iteration(queue.workspace, logging.getLogger("monitoring")))
        found.append(storage.claim_concurrency_slot("bank_account", waiting, "pooled").is_claimed)

    assert found == [False, True]


@pytest.mark.slow
def test_the_instance_monitors_retries_and_frees_places(queue: Queue) -> None:
    instance = queue.instance

    assert (instance.run_monitoring_enabled, instance.run_monitoring_max_runtime_seconds) == (True, 21600)
    assert instance.run_monitoring_settings["free_slots_after_run_end_seconds"] == 15
    assert (instance.run_retries_enabled, instance.run_retries_max_retries) == (True, 2)
    assert instance.run_retries_retry_on_asset_or_op_failure is False
    assert instance.telemetry_enabled is False


@pytest.mark.parametrize("name", ["dagster-local.yaml", "dagster-postgres.yaml"])
def test_an_example_is_what_dagsters_own_schema_takes(name: str, tmp_path: Path) -> None:
    """A name that is misspelt would be refused, as the test after this shows."""
    shutil.copy(EXAMPLES / name, tmp_path / "dagster.yaml")

    config, _ = dagster_instance_config(str(tmp_path))

    assert config["concurrency"]["pools"]["granularity"] == "run"
    assert config["run_monitoring"]["enabled"] is True
    assert ("postgres" in config.get("storage", {})) == (name == "dagster-postgres.yaml")


def test_a_setting_that_is_misspelt_is_refused(tmp_path: Path) -> None:
    example = (EXAMPLES / "dagster-postgres.yaml").read_text(encoding="utf-8")
    (tmp_path / "dagster.yaml").write_text(example.replace("username:", "user:"), encoding="utf-8")

    with pytest.raises(dg.DagsterInvalidConfigError):
        dagster_instance_config(str(tmp_path))
