"""Backfills over the same partitions, launched twice and at once by Dagster's own daemon: each partition lands once."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.execution.backfill import PartitionBackfill
from dagster._core.test_utils import create_test_daemon_workspace_context, poll_for_finished_run
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import ModuleTarget
from dagster._daemon.backfill import execute_backfill_iteration
from dagster._daemon.run_coordinator.queued_run_coordinator_daemon import QueuedRunCoordinatorDaemon

from pipelines.instance import prepare_instance
from seriatim.dagster import IcebergCatalog
from tests.code_location.partitioned import URI, WAREHOUSE
from tests.code_location.station import ROOT
from tests.dagster_api.accounts import DAYS, balances

RUN_S_MAX = 120.0
ROUNDS_MAX = 20


@pytest.fixture
def workspace(
    tmp_path: Path, catalog: IcebergCatalog, monkeypatch: pytest.MonkeyPatch
) -> Iterator[WorkspaceProcessContext]:
    monkeypatch.setenv(URI, catalog.uri)
    monkeypatch.setenv(WAREHOUSE, catalog.warehouse)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home"))
    prepare_instance(tmp_path / "home")
    target = ModuleTarget("tests.code_location.partitioned", None, str(ROOT), "partitioned")
    with (
        dg.DagsterInstance.from_config(str(tmp_path / "home")) as instance,
        create_test_daemon_workspace_context(target, instance) as workspace,
    ):
        yield workspace


def request(workspace: WorkspaceProcessContext, backfill_id: str, asset: str) -> None:
    """Ask for a backfill of all three partitions, as the UI's button does."""
    with workspace.create_request_context() as context:
        backfill = PartitionBackfill.from_asset_partitions(
            backfill_id=backfill_id,
            asset_graph=context.asset_graph,
            partition_names=DAYS.get_partition_keys(),
            asset_selection=[dg.AssetKey(asset)],
            backfill_timestamp=0.0,
            tags={},
            dynamic_partitions_store=workspace.instance,
            all_partitions=False,
            title=None,
            description=None,
            run_config=None,
        )
    workspace.instance.add_backfill(backfill)


def work(workspace: WorkspaceProcessContext) -> Sequence[dg.DagsterRun]:
    """Let the daemons of backfills and of the queue work until no run is left; return the runs."""
    instance, logger = workspace.instance, logging.getLogger("backfills")
    for _ in range(ROUNDS_MAX):
        list(execute_backfill_iteration(workspace, logger))
        with QueuedRunCoordinatorDaemon(interval_seconds=1) as daemon:
            list(daemon.run_iteration(workspace))
        for run in instance.get_runs():
            poll_for_finished_run(instance, run.run_id, timeout=RUN_S_MAX)
        if all(backfill.status.value.startswith("COMPLETED") for backfill in instance.get_backfills()):
            return instance.get_runs()
    raise AssertionError("the backfills do not end")


@pytest.mark.parametrize(
    ("asset", "runs_of_each"),
    [
        pytest.param("each_by_itself", 3, marks=pytest.mark.exhaustive),
        pytest.param("all_in_one", 1, marks=pytest.mark.slow),
    ],
)
def test_two_backfills_of_the_same_partitions_apply_each_once(
    workspace: WorkspaceProcessContext, catalog: IcebergCatalog, asset: str, runs_of_each: int
) -> None:
    """They are launched at once, and their runs overlap."""
    request(workspace, "one", asset)
    request(workspace, "two", asset)

    runs = work(workspace)

    assert {run.status for run in runs} == {dg.DagsterRunStatus.SUCCESS}
    assert len(runs) == 2 * runs_of_each
    assert balances(catalog)[1] == 130
    told = workspace.instance.fetch_materializations(dg.AssetKey(asset), limit=100).records
    by_partition = [(record.partition_key, _already(record)) for record in told]
    assert sorted(by_partition) == sorted((key, already) for key in DAYS.get_partition_keys() for already in (0, 1))


def _already(record: dg.EventLogRecord) -> bool:
    assert record.asset_materialization is not None
    return bool(record.asset_materialization.metadata["already_applied"].value)
