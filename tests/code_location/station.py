"""A Dagster instance whose runs are real processes and whose daemons take a step when the test says so.

The daemons' own functions are called: there is no waiting for their intervals, and no chance in what comes first.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import dagster as dg
import pytest
from dagster._cli.job import _create_run
from dagster._core.execution.plan.resume_retry import ReexecutionStrategy
from dagster._core.remote_representation.code_location import CodeLocation
from dagster._core.storage.tags import PARENT_RUN_ID_TAG
from dagster._core.test_utils import create_test_daemon_workspace_context, freeze_time, poll_for_finished_run
from dagster._core.workspace.context import WorkspaceProcessContext, WorkspaceRequestContext
from dagster._core.workspace.load_target import ModuleTarget
from dagster._daemon.auto_run_reexecution.event_log_consumer import EventLogConsumerDaemon
from dagster._daemon.run_coordinator.queued_run_coordinator_daemon import QueuedRunCoordinatorDaemon
from dagster._scheduler.scheduler import launch_scheduled_runs
from deltalake import DeltaTable
from pyiceberg.catalog import Catalog

from assets.account_table import ACCOUNT_TABLE
from assets.transactions import read_transactions
from assets.transactions_table import TRANSACTIONS_TABLE
from oracle.lineage import landed_operation_ids
from pipelines.generated_bank import generate_bank, write_bank
from pipelines.instance import prepare_instance
from pipelines.landing import append, arrivals
from pipelines.main_job.judge import Judgement, judge
from pipelines.resources import CATALOG_URI, DELTA, WAREHOUSE, BankCatalog
from seriatim.dagster import ensure_namespace
from seriatim.mirror import mirror
from tests.code_location.gated import GATES, GO, REACHED, Plan

ROOT: Final = Path(__file__).resolve().parents[2]
LOCATION: Final = "gated_bank"
MODULE: Final = "tests.code_location.gated"
RUN_S_MAX: Final = 120.0  # Far above what any run takes; a hang then fails.


@dataclass(frozen=True, slots=True)
class Station:
    """The instance under `home`, and the workspace with the code location, which is a process of its own."""

    home: Path
    workspace: WorkspaceProcessContext

    @property
    def instance(self) -> dg.DagsterInstance:
        """The instance."""
        return self.workspace.instance

    @property
    def gates(self) -> Path:
        """The folder of the gates."""
        return self.home / "gates"

    def catalog(self) -> Catalog:
        """Open the bank's catalog anew."""
        return BankCatalog().load()

    def judge(self) -> Judgement:
        """Compare the balances with those of the serial model, after the operations that have landed."""
        return judge(self.catalog(), ACCOUNT_TABLE, self.home / "bank.csv", self.home / "bank_transactions")

    def snapshot_of(self, operation_id: str) -> str:
        """Return the one snapshot that carries an operation."""
        (found,) = [
            snapshot.snapshot_id
            for snapshot in self.catalog().load_table(ACCOUNT_TABLE).metadata.snapshots
            if snapshot.summary is not None
            and operation_id in json.loads(snapshot.summary.additional_properties["seriatim.operation-ids"])
        ]
        return str(found)

    def operations(self) -> tuple[str, ...]:
        """Return the ids of the operations that have landed, in their order."""
        return landed_operation_ids(self.catalog().load_table(ACCOUNT_TABLE).metadata_location)

    def plan(self, **gates: Plan) -> None:
        """Say what happens to the first run that comes to the gate `before`, or `after`."""
        for gate, plan in gates.items():
            (self.gates / gate).write_text(plan.name, encoding="utf-8")

    def wait_until_held(self) -> int:
        """Return when a run is held at a gate: the id of its step's process."""
        return int((self.gates / REACHED).read_text())

    def let_go(self) -> None:
        """Let the run go on that is held at a gate."""
        (self.gates / GO).write_text("go")

    def arrive(self) -> int:
        """Let the transactions of another day arrive, and mirror them; return the Delta version that they are."""
        delta = self.home / "bank_transactions"
        days = arrivals(read_transactions(self.home / "bank.csv"), seed=11)
        version = DeltaTable(str(delta)).version() + 1 if delta.exists() else 0
        append(days[version], str(delta))
        catalog = self.catalog()
        ensure_namespace(catalog, TRANSACTIONS_TABLE[:-1])
        mirror(str(delta), catalog, TRANSACTIONS_TABLE)
        return version

    def launch(self, job: str, *, upto: int | None = None) -> str:
        """Launch a run of a job, through the queue; return its id."""
        run_id = self.submit(job, upto=upto)
        self.dequeue()
        return run_id

    def submit(self, job: str, *, upto: int | None = None) -> str:
        """Put a run of a job into the queue; return its id."""
        asset = f"bank__{job.removeprefix('post_').removesuffix('_apart')}"
        with self._request() as request:
            location = _location(request)
            repository = next(iter(location.get_repositories().values()))
            run: dg.DagsterRun = _create_run(
                instance=self.instance,
                code_location=location,
                remote_repo=repository,
                remote_job=repository.get_full_job(job),
                run_config={} if upto is None else {"ops": {asset: {"config": {"upto": upto}}}},
                tags={},
                op_selection=None,
                run_id=None,
            )
            self.instance.submit_run(run.run_id, request)
        return run.run_id

    def reexecute(self, run_id: str, *, from_failure: bool) -> str:
        """Launch a run again, as the UI's button does; return the new run's id."""
        parent = self.instance.get_run_by_id(run_id)
        assert parent is not None
        with self._request() as request:
            location = _location(request)
            repository = next(iter(location.get_repositories().values()))
            run = self.instance.create_reexecuted_run(
                parent_run=parent,
                request_context=request,
                code_location=location,
                remote_job=repository.get_full_job(parent.job_name),
                strategy=ReexecutionStrategy.FROM_FAILURE if from_failure else ReexecutionStrategy.ALL_STEPS,
                use_parent_run_tags=True,
            )
            self.instance.submit_run(run.run_id, request)
        self.dequeue()
        return run.run_id

    def dequeue(self) -> None:
        """Let the daemon of the queue launch what is queued."""
        with QueuedRunCoordinatorDaemon(interval_seconds=1) as daemon:
            list(daemon.run_iteration(self.workspace))

    def retry(self) -> None:
        """Let the daemon of run retries look for runs that have failed, and launch what it makes of them."""
        list(EventLogConsumerDaemon().run_iteration(self.workspace))
        self.dequeue()

    def tick(self, schedule: str, now: datetime) -> str:
        """Switch a schedule on before `now`, with a scheduler that remembers nothing; return the id of its run."""
        with self._request() as request:
            (repository,) = _location(request).get_repositories().values()
            remote = repository.get_schedule(schedule)
            with freeze_time(now - timedelta(minutes=30)):
                self.instance.start_schedule(remote)
            with freeze_time(now):
                list(launch_scheduled_runs(self.workspace, logging.getLogger("scheduler"), now, {}))
            self.instance.stop_schedule(remote.get_remote_origin_id(), remote.selector_id, remote)
            self.instance.purge_ticks(remote.get_remote_origin_id(), remote.selector_id, now.timestamp() + 1)
        self.dequeue()
        (run,) = [run for run in self.instance.get_runs() if run.tags.get("dagster/schedule_name") == schedule]
        return run.run_id

    @contextmanager
    def daemons(self, count: int) -> Iterator[None]:
        """Let as many daemon processes work on the instance until the `with` block ends, each with all its daemons."""
        workspace = self.home / "workspace.yaml"
        place = {"module_name": MODULE, "location_name": LOCATION, "working_directory": str(ROOT)}
        workspace.write_text(json.dumps({"load_from": [{"python_module": place}]}), encoding="utf-8")  # JSON is YAML.
        command = [sys.executable, "-m", "dagster._daemon", "run", "-w", str(workspace)]
        processes = []
        try:
            for number in range(count):
                with (self.home / f"daemon-{number}.log").open("wb") as log:
                    processes.append(subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT))
            yield
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(RUN_S_MAX)

    def ended(self, run_id: str) -> dg.DagsterRun:
        """Return a run when it has ended."""
        return poll_for_finished_run(self.instance, run_id, timeout=RUN_S_MAX)

    def retries_of(self, run_id: str) -> list[dg.DagsterRun]:
        """Return the automatic retries of a run when they have ended: one at least."""
        of_parent = {PARENT_RUN_ID_TAG: run_id}
        poll_for_finished_run(self.instance, timeout=RUN_S_MAX, run_tags=of_parent)
        return [self.ended(run.run_id) for run in self.instance.get_runs(dg.RunsFilter(tags=of_parent))]

    def told(self, run_id: str) -> dict[str, Any]:
        """Return the metadata of the one materialization of a run."""
        events = self.instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
        (found,) = [each.asset_materialization for each in events if each.asset_materialization is not None]
        return {name: entry.value for name, entry in found.metadata.items()}

    def already(self, run_id: str) -> dict[str, str]:
        """Return what a run said had landed before it, and the snapshot that did it."""
        found: dict[str, str] = self.told(run_id).get("applied_before", {})
        return found

    @contextmanager
    def _request(self) -> Iterator[WorkspaceRequestContext]:
        with self.workspace.create_request_context() as request:
            yield request


@contextmanager
def open_station(home: Path) -> Iterator[Station]:
    """Make a bank, an instance and a code location under `home`, and serve them until the `with` block ends."""
    write_bank(home / "bank.csv", generate_bank(11, date(1993, 1, 1), days=14, accounts=20, transactions=600))
    (home / "gates").mkdir()
    for pipe in (REACHED, GO):
        os.mkfifo(home / "gates" / pipe)
    prepare_instance(home / "dagster")
    target = ModuleTarget(MODULE, attribute=None, working_directory=str(ROOT), location_name=LOCATION)
    with (
        pytest.MonkeyPatch.context() as patch,
        dg.DagsterInstance.from_config(str(home / "dagster")) as instance,
    ):
        for name, value in _environment(home).items():
            patch.setenv(name, value)
        with create_test_daemon_workspace_context(target, instance) as workspace:
            station = Station(home, workspace)
            station.retry()  # It heeds what happens after its first look.
            station.arrive()
            first = station.launch("post_cash_deposit")  # It makes the table.
            assert station.ended(first).is_success
            yield station


def _environment(home: Path) -> dict[str, str]:
    """Return the variables by which runs reach the bank under `home`."""
    return {
        DELTA: str(home / "bank_transactions"),
        CATALOG_URI: f"sqlite:///{home}/catalog.db?timeout=60",
        WAREHOUSE: f"file://{home}/warehouse",
        GATES: str(home / "gates"),
        "DAGSTER_HOME": str(home / "dagster"),
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }


def at(text: str) -> datetime:
    """Return a moment in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _location(request: WorkspaceRequestContext) -> CodeLocation:
    return request.get_code_location(LOCATION)
