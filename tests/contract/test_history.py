"""The history of a table: its snapshots as the commits that they are, newest first."""

from __future__ import annotations

import pyarrow as pa
from pyiceberg.table import Table

from seriatim.commit import Append, Base, Declared, RetentionPolicy, Writer, pinned
from seriatim.inspection import Commit, Cut, ForeignCommit, HistoryEntry, history
from tests.contract.apply_support import Deposit, call, opening, settings
from tests.contract.ledger_support import expire, expire_unreferenced, note, roll_back
from tests.faults.bank import Bank
from tests.faults.clock import ManualClock


def _history(bank: Bank, branch: str = "main") -> list[HistoryEntry]:
    return list(history(bank.table(), branch))


def _commits(bank: Bank) -> list[Commit]:
    return [entry for entry in _history(bank) if isinstance(entry, Commit)]


def _append_twice(bank: Bank, operation_id: str) -> None:
    def twice(table: Table) -> None:
        for account_id in (7, 8):
            rows = [{"id": account_id, "bal": 1}]
            table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))

    pinned(bank.connect(), bank.identifier, twice, operation_ids=[operation_id], **settings({}))


def test_an_empty_table_has_no_history(empty_bank: Bank) -> None:
    assert _history(empty_bank.create([])) == []


def test_a_commit_tells_who_changed_what_on_which_base(bank: Bank) -> None:
    base = bank.head()
    receipt = call(bank, Deposit(5), "deposit|1", "deposit|2", writer=Writer(run_id="run-7", host="till"))

    (commit, foreign) = _history(bank)

    assert isinstance(commit, Commit)
    assert commit.snapshot_ids == receipt.snapshot_ids
    assert (commit.operation_ids, commit.run_id, commit.host) == (("deposit|1", "deposit|2"), "run-7", "till")
    assert (commit.base_snapshot_id, commit.computed_on_snapshot_id, commit.attempts) == (base, None, 1)
    assert (commit.rows_added, commit.rows_removed, commit.is_whole) == (1, 1, True)
    assert isinstance(foreign, ForeignCommit)


def test_rows_carried_over_are_the_engines_and_not_the_changes(bank: Bank) -> None:
    """All three accounts lie in one file, which is written again for the sake of one."""
    call(bank, Deposit(5))

    (commit, _) = _history(bank)

    assert isinstance(commit, Commit)
    assert commit.engine.operation == "overwrite"
    assert (commit.rows_added, commit.engine.records_added, commit.engine.records_deleted) == (1, 3, 3)


def test_a_rebased_commit_names_both_bases_and_its_attempts(bank: Bank) -> None:
    read = bank.head()
    call(bank, opening(4, 400, lambda: bank.open_account(9, 9)), "open")

    (commit, rival, _) = _history(bank)

    assert isinstance(commit, Commit)
    assert isinstance(rival, ForeignCommit)
    assert (commit.base_snapshot_id, commit.computed_on_snapshot_id) == (rival.snapshot_id, read)
    assert commit.attempts == 2


def test_declared_sums_are_numbers(bank: Bank) -> None:
    def change(base: Base) -> Declared:
        rows = pa.Table.from_pylist([{"id": 4, "bal": 400}], schema=base.schema.as_arrow())
        return Declared(Append(rows), sums={"bal": 400})

    call(bank, change, "open")

    assert _commits(bank)[0].sums == {"bal": 400}


def test_a_foreign_commit_is_shown_as_what_it_did(bank: Bank) -> None:
    call(bank, opening(4, 400), "open")
    bank.close_account(4)

    (foreign, commit, created) = _history(bank)

    assert isinstance(foreign, ForeignCommit)
    assert isinstance(created, ForeignCommit)
    assert isinstance(commit, Commit)
    assert (foreign.engine.operation, foreign.engine.records_added, foreign.engine.records_deleted) == ("delete", 0, 1)
    assert (created.engine.operation, created.engine.records_added) == ("append", 3)
    assert foreign.snapshot_id == bank.head()
    assert foreign.made_by is None


def test_the_snapshots_of_one_commit_are_one_entry(bank: Bank) -> None:
    """Two commits that follow each other stay two."""
    _append_twice(bank, "first")
    _append_twice(bank, "second")

    (second, first) = _commits(bank)

    assert (second.operation_ids, first.operation_ids) == (("second",), ("first",))
    assert [*first.snapshot_ids, *second.snapshot_ids] == bank.snapshot_ids()[1:]
    assert (first.snapshots_made, first.is_whole, first.engine.records_added) == (2, True, 2)
    assert first.rows_added is None


def test_several_snapshots_on_an_empty_table_have_no_base(empty_bank: Bank) -> None:
    bank = empty_bank.create([])
    _append_twice(bank, "first")

    (commit,) = _history(bank)

    assert isinstance(commit, Commit)
    assert commit.base_snapshot_id is None


def test_a_branch_set_back_into_the_middle_of_a_commit_is_told(bank: Bank) -> None:
    _append_twice(bank, "both")
    roll_back(bank, bank.snapshot_ids()[-2])

    (commit, _) = _history(bank)

    assert isinstance(commit, Commit)
    assert (len(commit.snapshot_ids), commit.snapshots_made, commit.is_whole) == (1, 2, False)


def test_expired_history_ends_in_a_cut_with_a_whole_ledger(bank: Bank) -> None:
    """Our own retention cuts every longer history; what was applied is known all the same."""
    clock = ManualClock()
    clock.wait_s(2**32)  # Whatever the bank did on its own clock is old.
    for number in range(4):
        clock.wait_s(60)
        note(bank, f"n{number}", retention=RetentionPolicy(snapshots_min=2), clock=clock)

    (*commits, cut) = _history(bank)

    assert [entry.operation_ids for entry in commits if isinstance(entry, Commit)] == [("n3",), ("n2",)]
    assert isinstance(cut, Cut)
    assert cut.is_ledger_whole
    assert cut.oldest_snapshot_id == bank.snapshot_ids()[-2]
    assert cut.base_snapshot_id is not None
    assert cut.base_snapshot_id not in bank.snapshot_ids()


def test_a_history_cut_by_others_without_a_ledger_says_so(bank: Bank) -> None:
    bank.deposit(1)
    expire_unreferenced(bank)

    (foreign, cut) = _history(bank)

    assert isinstance(foreign, ForeignCommit)
    assert cut == Cut(foreign.snapshot_id, None, is_ledger_whole=False)


def test_a_whole_history_ends_without_a_cut(bank: Bank) -> None:
    note(bank, "n")

    assert not any(isinstance(entry, Cut) for entry in _history(bank))


def test_a_commit_whose_first_snapshot_was_expired_is_whole(bank: Bank) -> None:
    """Its last one is there, and with it all that it did."""
    _append_twice(bank, "both")
    expire(bank, bank.snapshot_ids()[:-1])

    (commit, cut) = _history(bank)

    assert isinstance(commit, Commit)
    assert (len(commit.snapshot_ids), commit.snapshots_made, commit.is_whole) == (1, 2, True)
    assert isinstance(cut, Cut)


def test_a_branch_has_a_history_of_its_own(bank: Bank) -> None:
    bank.append_to_branch("audit")

    assert len(_history(bank, "audit")) == 2
    assert len(_history(bank)) == 1
