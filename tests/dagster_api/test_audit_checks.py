"""The checks that one audit answers: each fails on its own kinds of anomaly, and shows who bears witness."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import dagster as dg
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table

from seriatim.audit import Anomaly, Kind, SumsAsRecorded, UniqueKey, Verdict
from seriatim.commit import Rewrite, apply
from seriatim.dagster import IcebergCatalog, audit_checks
from seriatim.dagster.audit_results import Check, audit_result
from tests.dagster_api.accounts import TABLE, TABLE_KEY, add, evaluated, put, rows

CHECKS = audit_checks(
    asset_key=TABLE_KEY, identifier=("bank", "account"), invariants=[UniqueKey("id"), SumsAsRecorded("bal")]
)
NAMES = {"serial", "no_lost_update", "no_double_apply", "sum_invariant"}


def red(catalog: IcebergCatalog, **options: Any) -> dict[str, dg.AssetCheckEvaluation]:
    """Return what of the four fails as an error; nothing fails in another way."""
    found = evaluated(CHECKS, catalog, **options)
    assert set(found) == NAMES
    failed = {name: each for name, each in found.items() if not each.passed}
    assert all(each.severity is dg.AssetCheckSeverity.ERROR for each in failed.values())
    return failed


def witness(evaluation: dg.AssetCheckEvaluation) -> dict[str, Any]:
    """Return the one witness of a check that failed."""
    (found,) = json.loads(json.dumps(evaluation.metadata["witnesses"].value))
    assert evaluation.metadata["anomalies"].value == 1
    return dict(found)


def load(catalog: IcebergCatalog) -> Table:
    return catalog.load().load_table(TABLE)


def words(base: Table, operation_id: str, sums: Mapping[str, int]) -> dict[str, str]:
    """Return what a commit of ours records, by which a buggy writer claims to be one."""
    snapshot = base.current_snapshot()
    assert snapshot is not None
    return {
        "seriatim.commit-id": f"commit-of-{operation_id}-on-{snapshot.snapshot_id}",
        "seriatim.operation-ids": json.dumps([operation_id]),
        "seriatim.base-snapshot-id": str(snapshot.snapshot_id),
        "seriatim.base-sequence-number": str(snapshot.sequence_number),
        "seriatim.sums": json.dumps(dict(sums)),
    }


def deposit(catalog: IcebergCatalog, amount: int, operation_id: str) -> None:
    apply(catalog.load(), TABLE, add(amount), operation_ids=[operation_id])


def test_a_table_that_only_our_commits_write_is_green(catalog: IcebergCatalog) -> None:
    deposit(catalog, 10, "first")
    deposit(catalog, 5, "second")

    assert red(catalog) == {}
    (serial,) = evaluated(CHECKS, catalog, only="serial").values()
    assert (serial.metadata["status"].value, serial.metadata["snapshots_judged"].value) == ("clean", 3)
    assert serial.metadata["anomalies"].value == 0


def test_a_plain_overwrite_changes_the_sum_and_is_no_lost_update(catalog: IcebergCatalog) -> None:
    deposit(catalog, 10, "first")
    load(catalog).overwrite(rows({1: 7}), EqualTo("id", 1))

    failed = red(catalog)

    assert set(failed) == {"serial", "sum_invariant"}
    for evaluation in failed.values():
        found = witness(evaluation)
        assert (found["kind"], found["rows"]) == ("foreign write", ["went: id=1, bal=110", "came: id=1, bal=7"])
        assert found["breaks"] == ["the sum of bal moves as recorded"]
    head = load(catalog).current_snapshot()
    assert head is not None
    assert witness(failed["serial"])["snapshot_ids"][-1] == str(head.snapshot_id)


@pytest.mark.parametrize("is_base_true", [False, True], ids=["on another base", "on a base it had not read"])
def test_a_writer_that_does_not_read_again_loses_an_update(catalog: IcebergCatalog, is_base_true: bool) -> None:
    """It read 100, a deposit made it 110, and it wrote 101; the sum is off, too, whichever way it is found."""
    stale = load(catalog)
    deposit(catalog, 10, "first")
    fresh = load(catalog)
    said = words(fresh if is_base_true else stale, "stale", {"bal": 1})
    fresh.overwrite(rows({1: 101}), EqualTo("id", 1), snapshot_properties=said)

    failed = red(catalog)

    assert set(failed) == {"serial", "no_lost_update", "sum_invariant"}
    for evaluation in failed.values():
        assert witness(evaluation)["kind"] == "lost update"
        assert witness(evaluation)["operation_ids"] == ["stale"]
        assert any("110" in row for row in witness(evaluation)["rows"])


def test_an_append_that_is_done_again_under_its_name_is_a_double_apply(catalog: IcebergCatalog) -> None:
    """The writer took a lost reply for a failure; every sum is as it was recorded."""
    for account_id in (8, 9):
        table = load(catalog)
        table.append(rows({account_id: 1}), snapshot_properties=words(table, "again", {"bal": 1}))

    failed = red(catalog)

    assert set(failed) == {"serial", "no_double_apply"}
    for evaluation in failed.values():
        assert (witness(evaluation)["kind"], witness(evaluation)["operation_ids"]) == ("double apply", ["again"])
        assert len(witness(evaluation)["snapshot_ids"]) == 2


def test_a_sum_that_moved_twice_is_a_double_apply_that_breaks_it(catalog: IcebergCatalog) -> None:
    table = load(catalog)
    table.append(rows({9: 4}), snapshot_properties=words(table, "twice", {"bal": 2}))

    assert set(red(catalog)) == {"serial", "no_double_apply", "sum_invariant"}


def test_a_key_that_is_there_twice_is_red_for_the_whole_alone(catalog: IcebergCatalog) -> None:
    """The other checks are true all the same, and say so."""
    table = load(catalog)
    table.append(rows({1: 4}), snapshot_properties=words(table, "again", {"bal": 4}))

    failed = red(catalog)

    assert set(failed) == {"serial"}
    assert witness(failed["serial"])["kind"] == "duplicate key"
    assert witness(failed["serial"])["breaks"] == ["id is unique"]


def test_what_cannot_be_judged_is_a_warning_of_the_whole(catalog: IcebergCatalog) -> None:
    """A change of ours that moves the sum and does not say by how much; the others point at it."""
    apply(catalog.load(), TABLE, lambda base: Rewrite(rows({1: 101}), keys="id"))

    found = evaluated(CHECKS, catalog)

    assert {name for name, each in found.items() if not each.passed} == {"serial"}
    assert found["serial"].severity is dg.AssetCheckSeverity.WARN
    assert found["serial"].metadata["unjudged"].value == 1
    assert "does not record" in str(found["serial"].metadata["cannot_be_judged"].value)
    assert "`serial`" in (found["sum_invariant"].description or "")


def test_an_audit_can_go_on_after_a_snapshot(catalog: IcebergCatalog) -> None:
    load(catalog).overwrite(rows({1: 7}), EqualTo("id", 1))
    head = load(catalog).current_snapshot()
    assert head is not None

    assert set(red(catalog)) == {"serial", "sum_invariant"}
    assert red(catalog, since_snapshot_id=head.snapshot_id) == {}


def test_one_check_can_be_run_alone(catalog: IcebergCatalog) -> None:
    put(catalog, {1: 7})

    assert set(evaluated(CHECKS, catalog, only="no_double_apply")) == {"no_double_apply"}


def test_a_table_without_a_declared_sum_has_no_check_of_sums(catalog: IcebergCatalog) -> None:
    """A check that nothing can fail would be a false promise."""
    checks = audit_checks(asset_key=TABLE_KEY, identifier=("bank", "account"), invariants=[UniqueKey("id")])

    assert set(evaluated(checks, catalog)) == NAMES - {"sum_invariant"}


def test_a_table_that_is_not_there_yet_passes(catalog: IcebergCatalog) -> None:
    catalog.load().drop_table(TABLE)

    assert red(catalog) == {}


@pytest.mark.parametrize("check", Check)
def test_anomalies_that_a_verdict_does_not_keep_may_be_of_any_kind(check: Check) -> None:
    """It keeps the first thousand; a check that finds none of its own among them is not known to be true."""
    found = (Anomaly(Kind.GHOST_COMMIT, "it is not there", (1,)),)
    verdict = Verdict("bank.account", "main", 1, None, 1, (), found, (), (), anomalies_left_out=7)

    result = audit_result(check, verdict, TABLE_KEY)

    assert (result.passed, result.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert "7" in (result.description or "")
