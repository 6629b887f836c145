"""A process is killed with SIGKILL at every step of a commit; another one does the same again."""

from __future__ import annotations

import sys

import pytest

from seriatim.commit import Receipt, summary
from tests.faults.bank import Bank
from tests.faults.deeds import DEEDS
from tests.faults.victim import Gate, do_in_a_process

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL, and no fork")

START = {1: 100, 2: 200, 3: 300}
gates = pytest.mark.parametrize("gate", [gate for gate in Gate if gate is not Gate.NOWHERE], ids=lambda gate: gate.name)


@gates
@pytest.mark.parametrize("deed", [pytest.param("append", marks=pytest.mark.exhaustive), "rewrite", "pinned overwrite"])
def test_a_killed_call_is_done_once_by_the_process_that_does_it_again(bank: Bank, deed: str, gate: Gate) -> None:
    """P4: the second process knows nothing of the first but the operation id. What the first one left harms nobody."""
    after = DEEDS[deed].after(START)

    killed = do_in_a_process(bank.path, deed, ("it",), gate)

    assert killed.was_killed
    assert bank.balances() == (after if gate.has_landed else START)
    assert_whole(bank)
    assert kinds_of_orphans(bank) == expected_orphans(gate)

    again = do_in_a_process(bank.path, deed, ("it",), Gate.NOWHERE)

    assert again.exit_code == 0
    assert isinstance(again.returned, Receipt)
    assert again.returned.is_noop == gate.has_landed
    assert tuple(again.returned.already_applied) == (("it",) if gate.has_landed else ())
    assert bank.balances() == after
    assert len(bank.rows()) == len(after)
    assert len(commits_of(bank, "it")) == 1
    assert_whole(bank)


@gates
def test_a_killed_account_function_leaves_the_old_balance_or_the_new_one(bank: Bank, gate: Gate) -> None:
    """It has no operation id to be found by; what is in the table is whole all the same."""
    killed = do_in_a_process(bank.path, "account function", (), gate)

    assert killed.was_killed
    assert bank.balances() == {**START, 1: 107 if gate.has_landed else 100}
    assert_whole(bank)


def test_a_deed_whose_process_lives_returns_its_receipt(bank: Bank) -> None:
    """Without a gate nobody is killed, so that it is the gate that kills."""
    ending = do_in_a_process(bank.path, "rewrite", ("it",), Gate.NOWHERE)

    assert (ending.exit_code, ending.was_killed) == (0, False)
    assert isinstance(ending.returned, Receipt)
    assert bank.head() in ending.returned.snapshot_ids
    assert bank.inventory().unreachable == []


def kinds_of_orphans(bank: Bank) -> set[str]:
    """Return the kinds of the files that no snapshot reaches."""
    return {path.suffix for path in bank.inventory().unreachable}


def expected_orphans(gate: Gate) -> set[str]:
    """Return what a process leaves that is killed at the gate, if the gate is where it says."""
    if gate in (Gate.COMPUTED, Gate.BEFORE_DATA) or gate.has_landed:
        return set()
    return {".parquet"} if gate in (Gate.WITHIN_DATA, Gate.AFTER_DATA, Gate.BEFORE_MANIFESTS) else {".parquet", ".avro"}


def assert_whole(bank: Bank) -> None:
    """Every snapshot can be read, whatever its files; orphans are allowed."""
    table = bank.table()
    for snapshot in table.metadata.snapshots:
        table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
    assert bank.inventory().missing == []


def commits_of(bank: Bank, operation_id: str) -> set[str]:
    """Return the commits that say that they applied the operation."""
    applied = [each for each in bank.table().metadata.snapshots if operation_id in summary.operation_ids(each)]
    return {str(each.summary[summary.COMMIT_ID]) for each in applied if each.summary is not None}
