"""`fold` and `repair`: the ledger in one file, and a ledger that is whole again."""

from __future__ import annotations

from typing import Any

import pytest

from seriatim.commit import LedgerPolicy, RetentionPolicy, Stream, ledger_file
from seriatim.errors import HistoryCutError, LedgerUnreadableError, OperationTooOldError, UpkeepRefusedError
from seriatim.upkeep import expire, fold, repair
from tests.contract.apply_support import Deposit, call
from tests.contract.ledger_support import (
    head,
    ledger_files,
    named_files,
    note,
    recent_ids,
    words,
)
from tests.contract.upkeep_support import readings
from tests.faults.bank import Bank


def test_a_fold_leaves_nothing_to_carry_but_the_file(bank: Bank) -> None:
    """And every operation is found as before; no row changes."""
    for number in range(3):
        call(bank, Deposit(1), f"it-{number}")
    call(bank, Deposit(1), stream=Stream("s", 1, None))
    before = bank.rows()

    receipt = fold(bank.connect(), bank.identifier)

    assert len(receipt.snapshot_ids) == 1
    assert "seriatim.ledger" in words(head(bank))
    assert recent_ids(head(bank)) == []
    assert "seriatim.watermarks" not in words(head(bank))
    assert bank.rows() == before
    assert all(note(bank, f"it-{number}").is_noop for number in range(3))
    assert call(bank, Deposit(1), stream=Stream("s", 1, None)).is_noop


def test_a_second_fold_commits_nothing(bank: Bank) -> None:
    """There is nothing left to fold."""
    call(bank, Deposit(1), "it")
    fold(bank.connect(), bank.identifier)
    before = bank.head()

    assert fold(bank.connect(), bank.identifier).is_noop
    assert bank.head() == before
    assert len(ledger_files(bank)) == 1


def test_a_watermark_alone_is_folded(bank: Bank) -> None:
    """A commit that carries no id may carry where streams are."""
    call(bank, Deposit(1), stream=Stream("s", 1, None))

    assert not fold(bank.connect(), bank.identifier).is_noop
    assert fold(bank.connect(), bank.identifier).is_noop


def test_a_table_that_seriatim_never_wrote_has_a_ledger_after_a_fold(bank: Bank) -> None:
    """So that the expiry of its beginning does not cost the proof of what was not applied."""
    bank.deposit(1)
    assert not fold(bank.connect(), bank.identifier).is_noop

    bank.deposit(1)
    expire(bank.connect(), bank.identifier, retention=RetentionPolicy(snapshots_min=1), dry_run=False)

    assert not call(bank, Deposit(1), "first").is_noop


def test_a_fold_of_a_branch_leaves_main_alone(bank: Bank) -> None:
    """Each branch has its ledger."""
    bank.append_to_branch("other")
    note(bank, "there", branch="other")
    before = bank.head()

    assert not fold(bank.connect(), bank.identifier, branch="other").is_noop
    assert bank.head() == before
    assert note(bank, "there", branch="other").is_noop


def test_a_fold_keeps_what_is_within_the_window_that_it_is_given(bank: Bank) -> None:
    """Without one it forgets nothing: the test's operations are applied in 1970."""
    note(bank, "old")

    fold(bank.connect(), bank.identifier)
    assert note(bank, "old").is_noop
    note(bank, "new")
    fold(bank.connect(), bank.identifier, ledger=LedgerPolicy(window_s=3600))

    assert not note(bank, "old").is_noop


def cut(bank: Bank) -> None:
    """Lose our newest commit, and what proves that there was one."""
    call(bank, Deposit(1), "lost")
    bank.compact()
    bank.compact()
    bank.expire_all_but_head()


def test_a_cut_history_cannot_be_folded(bank: Bank) -> None:
    """A file that says that it knows everything would be a lie."""
    cut(bank)
    before = bank.head()

    with pytest.raises(UpkeepRefusedError, match="repair"):
        fold(bank.connect(), bank.identifier)
    assert bank.head() == before


def test_a_whole_history_needs_no_repair(bank: Bank) -> None:
    """Nothing is committed, dry run or not."""
    call(bank, Deposit(1), "it")
    before = bank.head()

    for dry_run in (True, False):
        report = repair(bank.connect(), bank.identifier, dry_run=dry_run)
        assert (report.is_whole, report.receipt, report.cut_at) == (True, None, None)
    assert bank.head() == before


def test_a_cut_history_is_named_and_then_repaired(bank: Bank) -> None:
    """Calls with operations are refused before, and work after; what says that it is older is refused."""
    cut(bank)
    oldest = bank.head()
    with pytest.raises(HistoryCutError):
        note(bank, "new")

    report = repair(bank.connect(), bank.identifier)
    assert (report.is_whole, report.cut_at, report.receipt) == (False, oldest, None)
    assert bank.head() == oldest

    before = readings(bank.table())
    report = repair(bank.connect(), bank.identifier, dry_run=False)

    assert report.receipt is not None
    assert not report.receipt.is_noop
    assert readings(bank.table())[report.receipt.snapshot_ids[0]] == before[oldest or 0]
    assert not note(bank, "new").is_noop
    assert repair(bank.connect(), bank.identifier).is_whole
    with pytest.raises(OperationTooOldError):
        note(bank, "older", issued_at_ms=1)


@pytest.mark.parametrize("damage", ["gone", "torn"])
def test_a_ledger_file_that_cannot_be_read_is_named_and_then_replaced(bank: Bank, damage: str) -> None:
    """Also where this process had read it before it went."""
    note(bank, "lost")
    fold(bank.connect(), bank.identifier)
    note(bank, "kept")
    (path,) = named_files(bank)
    assert note(bank, "lost").is_noop  # It is read, and remembered.
    path.unlink() if damage == "gone" else path.write_bytes(b"torn")

    report = repair(bank.connect(), bank.identifier)
    assert (report.is_whole, report.cut_at) == (False, None)
    assert report.ledger_problem
    with pytest.raises(LedgerUnreadableError):
        note(bank, "new")
    with pytest.raises(LedgerUnreadableError):
        fold(bank.connect(), bank.identifier)

    report = repair(bank.connect(), bank.identifier, dry_run=False)

    assert report.receipt is not None
    ledger_file.forget_all()
    assert note(bank, "kept").is_noop
    assert not note(bank, "new").is_noop
    assert repair(bank.connect(), bank.identifier).is_whole


def test_a_repair_that_somebody_else_made_meanwhile_is_not_made_again(bank: Bank) -> None:
    """What is wrong is looked at anew on each base."""
    cut(bank)
    catalog: Any = bank.connect()
    made: list[object] = []
    load = catalog.load_table

    def load_table(identifier: Any) -> Any:
        table = load(identifier)
        if not made:
            made.append(0)
            made.append(repair(bank.connect(), bank.identifier, dry_run=False))
        return table

    catalog.load_table = load_table
    report = repair(catalog, bank.identifier, dry_run=False)

    assert report.receipt is not None
    assert report.receipt.is_noop
    assert len([one for one in bank.table().metadata.snapshots if "seriatim.commit-id" in words(one)]) == 1
