"""The audit of the account table, as an asset check."""

from __future__ import annotations

import json

import dagster as dg
import pyarrow as pa
from pyiceberg.expressions import EqualTo

from assets.account_table import ACCOUNT_TABLE
from pipelines.definitions import defs
from tests.code_location.scene import Scene


def _check(**config: object) -> dg.AssetCheckEvaluation:
    """Run the job that audits, as the UI would."""
    run_config = {"ops": {"bank__account_no_update_is_lost": {"config": config}}} if config else None
    result = defs.resolve_job_def("audit").execute_in_process(run_config=run_config)
    (evaluation,) = result.get_asset_check_evaluations()
    return evaluation


def _set_balance(scene: Scene, balance: int) -> int:
    """Write a balance with plain PyIceberg, and return what it was."""
    table = scene.catalog().load_table(ACCOUNT_TABLE)
    before = table.scan(row_filter=EqualTo("id", 1)).to_arrow()["bal"][0].as_py()
    rows = pa.Table.from_pylist([{"id": 1, "bal": balance}], schema=table.schema().as_arrow())
    table.overwrite(rows, overwrite_filter=EqualTo("id", 1))
    return int(before)


def test_overlapping_postings_pass(scene: Scene) -> None:
    """One is computed again because another came between its read and its commit."""
    scene.post("cash_deposit", rival=lambda: scene.post("household"))
    scene.post("standing_order")

    evaluation = _check()

    assert (evaluation.passed, evaluation.metadata["status"].value) == (True, "clean")
    assert evaluation.metadata["snapshots_judged"].value == len(scene.snapshots())


def test_a_write_past_the_pipeline_fails_it_with_a_witness(scene: Scene) -> None:
    scene.post("cash_deposit")
    before = scene.snapshots()[-1].snapshot_id
    was = _set_balance(scene, 7)

    evaluation = _check()

    assert (evaluation.passed, evaluation.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert evaluation.metadata["anomalies"].value == 1
    witnesses = json.dumps(evaluation.metadata["witnesses"].value)
    assert "foreign write" in witnesses
    assert f"went: id=1, bal={was}" in witnesses
    assert not _check(since_snapshot_id=before).passed
    assert _check(since_snapshot_id=scene.snapshots()[-1].snapshot_id).passed


def test_a_table_that_is_not_there_yet_passes(scene: Scene) -> None:
    assert _check().passed
