"""The checks of the bank: its job `audit`, on a bank that was left alone and on one that was tampered with."""

from __future__ import annotations

import json

import dagster as dg
import pyarrow as pa
from pyiceberg.expressions import EqualTo

from assets.account_table import ACCOUNT_TABLE
from assets.transactions_table import TRANSACTIONS_TABLE
from pipelines.definitions import defs
from tests.code_location.scene import Scene

AUDITED = ("serial", "no_lost_update", "no_double_apply")
CHECKS = {
    *(f"bank/{table}:{name}" for table in ("account", "transactions", "conflicts") for name in AUDITED),
    *("bank/account:sum_invariant", "bank/account:fresh", "bank/transactions:mirror_lag"),
}
ERROR, WARN = dg.AssetCheckSeverity.ERROR, dg.AssetCheckSeverity.WARN


def _checks(**config: object) -> dict[str, dg.AssetCheckEvaluation]:
    """Run the job that audits, as the UI would; `config` is that of the account table's audit."""
    run_config = {"ops": {"bank__account__audit": {"config": config}}} if config else None
    result = defs.resolve_job_def("audit").execute_in_process(run_config=run_config)
    found = {_name(evaluation): evaluation for evaluation in result.get_asset_check_evaluations()}
    assert set(found) == CHECKS
    return found


def _name(evaluation: dg.AssetCheckEvaluation) -> str:
    return f"{evaluation.asset_key.to_user_string()}:{evaluation.check_name}"


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
    assert found["bank/account:serial"].metadata["status"].value == "clean"
    assert found["bank/account:serial"].metadata["snapshots_judged"].value == len(scene.snapshots())


def test_a_write_past_the_pipeline_fails_it_with_a_witness(scene: Scene) -> None:
    """It changes the sum of the balances; no update is lost by it, and nothing applied twice."""
    scene.post("cash_deposit")
    before = scene.snapshots()[-1].snapshot_id
    was = _set_balance(scene, 7)

    found = _checks()

    red = {"bank/account:serial": ERROR, "bank/account:sum_invariant": ERROR}
    assert _failed(found) == red
    for name in red:
        witnesses = json.dumps(found[name].metadata["witnesses"].value)
        assert "foreign write" in witnesses
        assert f"went: id=1, bal={was}" in witnesses
    assert _failed(_checks(since_snapshot_id=before)) == red
    assert _failed(_checks(since_snapshot_id=scene.snapshots()[-1].snapshot_id)) == {}


def test_a_row_that_is_put_in_the_mirror_by_hand_fails_its_audit(scene: Scene) -> None:
    """A transaction that is there twice would be posted twice by whoever read the mirror from its beginning."""
    scene.post("cash_deposit")
    table = scene.catalog().load_table(TRANSACTIONS_TABLE)
    table.append(table.scan(row_filter=EqualTo("trans_id", 3)).to_arrow())

    found = _checks()

    assert _failed(found) == {"bank/transactions:serial": ERROR}
    assert "'trans_id': 3}: 2 rows" in json.dumps(found["bank/transactions:serial"].metadata["witnesses"].value)


def test_a_bank_that_has_posted_nothing_is_late_and_not_wrong(scene: Scene) -> None:
    """There is no account table, and the mirror is too many versions behind."""
    for trans_id in range(7, 13):
        scene.arrive(f"{trans_id},1,1993-01-04,cash_deposit,1.00")

    found = _checks()

    assert _failed(found) == {"bank/account:fresh": WARN, "bank/transactions:mirror_lag": WARN}
    assert found["bank/transactions:mirror_lag"].metadata["lag"].value == 6
