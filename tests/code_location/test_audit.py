"""The checks of the bank: its job `audit`, on a bank that was left alone and on one that was tampered with."""

from __future__ import annotations

import json

import dagster as dg
import pyarrow as pa
from pyiceberg.expressions import EqualTo

from assets.account_table import ACCOUNT_TABLE
from pipelines.definitions import defs
from tests.code_location.scene import Scene

OF_THE_AUDIT = {"serial", "no_lost_update", "no_double_apply", "sum_invariant"}


def _checks(**config: object) -> dict[str, dg.AssetCheckEvaluation]:
    """Run the job that audits, as the UI would."""
    run_config = {"ops": {"bank__account__audit": {"config": config}}} if config else None
    result = defs.resolve_job_def("audit").execute_in_process(run_config=run_config)
    found = {evaluation.check_name: evaluation for evaluation in result.get_asset_check_evaluations()}
    assert set(found) == OF_THE_AUDIT | {"fresh", "mirror_lag"}
    return found


def _failed(found: dict[str, dg.AssetCheckEvaluation]) -> dict[str, dg.AssetCheckSeverity]:
    return {name: evaluation.severity for name, evaluation in found.items() if not evaluation.passed}


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

    found = _checks()

    assert _failed(found) == {}
    assert found["serial"].metadata["status"].value == "clean"
    assert found["serial"].metadata["snapshots_judged"].value == len(scene.snapshots())


def test_a_write_past_the_pipeline_fails_it_with_a_witness(scene: Scene) -> None:
    """It changes the sum of the balances; no update is lost by it, and nothing applied twice."""
    scene.post("cash_deposit")
    before = scene.snapshots()[-1].snapshot_id
    was = _set_balance(scene, 7)

    found = _checks()

    error = dg.AssetCheckSeverity.ERROR
    assert _failed(found) == {"serial": error, "sum_invariant": error}
    for name in _failed(found):
        witnesses = json.dumps(found[name].metadata["witnesses"].value)
        assert "foreign write" in witnesses
        assert f"went: id=1, bal={was}" in witnesses
    assert _failed(_checks(since_snapshot_id=before)) == {"serial": error, "sum_invariant": error}
    assert _failed(_checks(since_snapshot_id=scene.snapshots()[-1].snapshot_id)) == {}


def test_a_bank_that_has_posted_nothing_is_late_and_not_wrong(scene: Scene) -> None:
    """There is no account table, and the mirror is too many versions behind."""
    for trans_id in range(7, 13):
        scene.arrive(f"{trans_id},1,1993-01-04,cash_deposit,1.00")

    found = _checks()

    late = dg.AssetCheckSeverity.WARN
    assert _failed(found) == {"fresh": late, "mirror_lag": late}
    assert found["mirror_lag"].metadata["lag"].value == 6
