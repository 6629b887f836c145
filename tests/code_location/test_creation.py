"""The first run ever, four times at once."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import dagster as dg
import pytest

from assets.account_table import OPENINGS
from pipelines.instance import prepare_instance
from seriatim.mirror import delta_version_of
from tests.code_location.creation import create_everything
from tests.code_location.scene import Scene

PROCESSES = 4


@pytest.mark.slow
def test_four_processes_may_create_everything_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One instance, one catalog, one table of each name, every Delta version mirrored once, every account open once."""
    scene = Scene(tmp_path)
    for name, value in scene.environment.items():
        monkeypatch.setenv(name, value)
    for first in range(0, 1000, 250):
        scene.arrive(*(f"{first + id_},{first + id_},1993-01-01,loan,-1.00" for id_ in range(1, 251)))
    home = tmp_path / "home"
    spawn = multiprocessing.get_context("spawn")
    meeting = spawn.Barrier(PROCESSES)
    workers = [
        spawn.Process(target=create_everything, args=(meeting, home, f"run-{number}")) for number in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(180)

    assert [worker.exitcode for worker in workers] == [0] * PROCESSES
    assert scene.balances() == dict.fromkeys(range(1, 1001), 0)
    assert scene.catalog().load_table(("bank", "account")).scan().count() == 1000
    assert scene.operations() == [[f"{OPENINGS}@3"]]
    mirror = scene.catalog().load_table(("bank", "transactions"))
    assert [delta_version_of(mirror, each) for each in mirror.metadata.snapshots] == [0, 1, 2, 3]
    assert scene.conflicts() == []
    with dg.DagsterInstance.from_config(str(home)) as instance:
        assert instance.get_runs_count() == 0


def test_an_instance_that_is_there_keeps_its_settings(tmp_path: Path) -> None:
    """Whoever has changed dagster.yaml meant it."""
    prepare_instance(tmp_path)
    settings = tmp_path / "dagster.yaml"
    changed = settings.read_text(encoding="utf-8").replace("max_retries: 2", "max_retries: 1")
    settings.write_text(changed, encoding="utf-8")

    prepare_instance(tmp_path)

    assert settings.read_text(encoding="utf-8") == changed


def test_the_settings_are_read_by_dagster(tmp_path: Path) -> None:
    """Runs whose process died are retried; runs that failed are not, for the commit loop alone answers conflicts."""
    prepare_instance(tmp_path, max_concurrent_runs=7)

    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert instance.run_retries_enabled
        assert instance.run_retries_max_retries == 2
        assert not instance.run_retries_retry_on_asset_or_op_failure
        assert instance.run_monitoring_enabled
        queue = instance.get_concurrency_config().run_queue_config
        assert queue is not None
        assert queue.max_concurrent_runs == 7
