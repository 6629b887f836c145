"""`pinned`: whatever PyIceberg's own operations do, they land once, on the base they saw, all or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import AddSnapshotUpdate
from pyiceberg.types import StringType

from seriatim.commit import Receipt, RetryPolicy, pinned
from seriatim.commit.chain import Step
from seriatim.commit.new_snapshot import write_snapshots
from seriatim.errors import ConflictError, InvalidChangeError, OutcomeUnknownError
from tests.contract.apply_support import Told, settings
from tests.contract.ledger_support import set_ref
from tests.faults.bank import Bank
from tests.faults.catalog import REPORTS, Fault, Landing


def _call(bank: Bank, fn: Callable[[Table], object], *operation_ids: str, **options: Any) -> Receipt:
    catalog = options.pop("catalog", None) or bank.connect()
    return pinned(catalog, bank.identifier, fn, operation_ids=operation_ids, **settings(options))


def _row(account_id: int, balance: int) -> pa.Table:
    return pa.table({"id": pa.array([account_id], pa.int64()), "bal": pa.array([balance], pa.int64())})


def _total(table: Table) -> int:
    return sum(table.scan().to_arrow()["bal"].to_pylist())


OPERATIONS: dict[str, tuple[Callable[[Table], object], dict[int, int]]] = {
    "append": (lambda table: table.append(_row(4, 4)), {1: 100, 2: 200, 3: 300, 4: 4}),
    "overwrite part": (lambda table: table.overwrite(_row(1, 4), "id == 1"), {1: 4, 2: 200, 3: 300}),
    "overwrite all": (lambda table: table.overwrite(_row(1, 4)), {1: 4}),
    "insert if absent": (lambda table: table.overwrite(_row(9, 4), "id == 9"), {1: 100, 2: 200, 3: 300, 9: 4}),
    "delete": (lambda table: table.delete("id == 2"), {1: 100, 3: 300}),
    "upsert": (lambda table: table.upsert(_row(1, 5), ["id"]), {1: 5, 2: 200, 3: 300}),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_operation_of_pyiceberg_lands_with_its_operation_id(bank: Bank, operation: str) -> None:
    """A second call with the same id finds it and does nothing."""
    fn, expected = OPERATIONS[operation]

    first = _call(bank, fn, "once")
    again = _call(bank, fn, "once")

    assert bank.balances() == expected
    assert len(bank.rows()) == len(expected)
    assert again.already_applied == {"once": first.snapshot_ids[-1]}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("landing", [Landing.AT_ONCE, Landing.NEVER, Landing.AT_NEXT_LOAD, Landing.AFTER_NEXT_COMMIT])
@pytest.mark.parametrize("report", ["CommitFailed", "ConnectionError"])
def test_a_lost_reply_is_looked_up(bank: Bank, operation: str, landing: Landing, report: str) -> None:
    """P5: PyIceberg alone destroys the table in half of these cases."""
    fn, expected = OPERATIONS[operation]
    catalog = bank.connect().fail(Fault(REPORTS[report](), landing))

    _call(bank, fn, catalog=catalog)
    catalog.deliver()

    assert bank.balances() == expected
    assert len(bank.rows()) == len(expected)
    assert bank.inventory().missing == []
    assert bank.inventory().unreachable == []


def test_everything_counts_as_read(bank: Bank) -> None:
    """A running total read from the whole table is computed again when anything was appended meanwhile."""
    rivals = [lambda: bank.open_account(8, 1_000)]
    told = Told()

    def append_total(table: Table) -> None:
        total = _total(table)
        if rivals:
            rivals.pop()()
        table.append(_row(9, total))

    receipt = _call(bank, append_total, observer=told)

    assert bank.balances()[9] == 1_600
    assert receipt.attempts == 2
    assert len(told.conflicts) == 1


def test_several_operations_land_as_one_commit(bank: Bank) -> None:
    """A reader never sees the half of it: one catalog commit, though it makes several snapshots."""
    catalog = bank.connect()

    def move(table: Table) -> None:
        table.append(_row(4, 50))
        table.delete("id == 1")
        assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [2, 3, 4]

    receipt = _call(bank, move, "move", catalog=catalog)

    assert len(catalog.submitted) == 1
    assert len(receipt.snapshot_ids) >= 2
    assert (receipt.files_added, receipt.files_removed) == (2, 1)
    assert receipt.rows_written - receipt.rows_removed == 0  # One row came, one went; others moved to another file.
    assert bank.balances() == {2: 200, 3: 300, 4: 50}


def test_a_schema_change_and_data_land_together(bank: Bank) -> None:
    """Or neither does: the rival's commit makes both be done again."""
    rivals = [lambda: bank.deposit(5)]

    def widen(table: Table) -> None:
        with table.transaction() as transaction:
            with transaction.update_schema() as update:
                update.add_column("note", StringType())
            if rivals:
                rivals.pop()()
            transaction.append(_row(4, 1).append_column("note", pa.array(["new"])))

    receipt = _call(bank, widen, "widen")

    assert receipt.attempts == 2
    assert [row.get("note") for row in bank.rows()] == [None, None, None, "new"]
    assert bank.balances()[1] == 105


def test_a_schema_change_alone_can_be_looked_up(bank: Bank) -> None:
    """It makes no snapshot of its own, so an empty one is added for it to be known by."""
    catalog = bank.connect().fail(Fault(REPORTS["ConnectionError"](), Landing.AT_ONCE))

    def widen(table: Table) -> None:
        with table.update_schema() as update:
            update.add_column("note", StringType())

    receipt = _call(bank, widen, catalog=catalog)

    assert len(receipt.snapshot_ids) == 1
    assert "note" in bank.table().schema().column_names


def test_what_commits_nothing_writes_nothing_unless_it_has_a_name(bank: Bank) -> None:
    """A delete that matches nothing makes no call to the catalog; its operation id lands all the same."""
    before = bank.head()

    unnamed = _call(bank, lambda table: table.delete("id == 77"))
    assert unnamed.is_noop
    assert bank.head() == before

    named = _call(bank, lambda table: table.delete("id == 77"), "nothing to delete")

    assert len(named.snapshot_ids) == 1
    assert bank.balances() == {1: 100, 2: 200, 3: 300}


@pytest.mark.parametrize("trouble", [RuntimeError("theirs"), CommitFailedException("theirs")])
def test_what_the_function_raises_comes_out_and_nothing_is_written(bank: Bank, trouble: Exception) -> None:
    """Also after it committed something through the table: that was held back, and its files are gone."""
    calls: list[int] = []

    def fail(table: Table) -> None:
        calls.append(1)
        table.append(_row(4, 4))
        raise trouble

    with pytest.raises(type(trouble)) as caught:
        _call(bank, fail)

    assert caught.value is trouble
    assert calls == [1]
    assert bank.balances() == {1: 100, 2: 200, 3: 300}
    assert bank.inventory().unreachable == []


def test_a_commit_to_another_branch_is_refused(bank: Bank) -> None:
    """The call's promise is about its own branch."""
    with bank.rival() as catalog:
        table = catalog.load_table(bank.identifier)
        table.manage_snapshots().create_branch(int(str(bank.head())), "other").commit()

    with pytest.raises(InvalidChangeError, match="other"):
        _call(bank, lambda table: table.append(_row(4, 4), branch="other"))

    assert bank.balances() == {1: 100, 2: 200, 3: 300}


def test_exhausted_attempts_leave_nothing(bank: Bank) -> None:
    """The files of each attempt that lost are gone."""

    def lose(table: Table) -> None:
        bank.deposit(1)
        table.append(_row(4, 4))

    with pytest.raises(ConflictError):
        _call(bank, lose, policy=RetryPolicy(attempts_max=2))

    assert bank.balances() == {1: 102, 2: 200, 3: 300}
    assert bank.inventory().unreachable == []


def test_the_branch_cannot_be_set_to_another_snapshot(bank: Bank) -> None:
    """Which operations had been applied there is another question than the one that the call has asked."""
    first = bank.snapshot_ids()[0]
    bank.deposit(10)
    before = bank.head()

    def roll_back(table: Table) -> None:
        table.append(_row(4, 4))
        table.catalog.commit_table(table, (), (set_ref("main", first),))

    with pytest.raises(InvalidChangeError, match=str(first)):
        _call(bank, roll_back, "back")

    assert bank.head() == before
    assert bank.inventory().unreachable == []


def test_a_snapshot_that_was_not_made_from_the_base_does_not_land(bank: Bank) -> None:
    """It would take back what came after the snapshot that it was made from, though the head is the base."""
    stale = bank.table()
    bank.deposit(10)

    def forge(table: Table) -> None:
        now_ms = table.metadata.last_updated_ms
        made, moved = write_snapshots(stale, "main", [Step(Operation.APPEND)], now_ms)
        assert isinstance(made, AddSnapshotUpdate)
        number = table.metadata.next_sequence_number()
        forged = made.snapshot.model_copy(update={"sequence_number": number})
        table.catalog.commit_table(table, (), (AddSnapshotUpdate(snapshot=forged), moved))

    with pytest.raises(ConflictError):
        _call(bank, forge, policy=RetryPolicy(attempts_max=1))

    assert bank.balances()[1] == 110


def test_only_the_commit_says_what_it_is(bank: Bank) -> None:
    """The summary keeps what the function says there, but for words of ours: an operation would count as applied."""
    words = {"seriatim.operation-ids": '["forged"]', "mine": "yes"}

    _call(bank, lambda table: table.append(_row(4, 4), snapshot_properties=words))

    summary = bank.table().current_snapshot().summary.additional_properties  # type: ignore[union-attr]
    assert summary["mine"] == "yes"
    assert "seriatim.operation-ids" not in summary
    assert not _call(bank, lambda table: table.append(_row(5, 5)), "forged").is_noop


def test_an_open_outcome_is_not_followed_by_a_receipt_for_nothing(bank: Bank) -> None:
    """The first attempt emptied the queue, and its commit is on its way; the second finds nothing to write."""
    queue = [_row(4, 400)]

    def drain(table: Table) -> None:
        while queue:
            table.append(queue.pop())

    catalog = bank.connect().fail(Fault(REPORTS["ConnectionError"](), Landing.AFTER_NEXT_COMMIT))

    with pytest.raises(OutcomeUnknownError):
        _call(bank, drain, catalog=catalog)
    catalog.deliver()

    assert bank.balances()[4] == 400


def test_a_file_that_was_there_before_stays_when_the_call_fails(bank: Bank) -> None:
    """What the function writes anew goes with it; what it writes over was not its own."""
    io, home = bank.table().io, bank.table().location()
    kept, new = f"{home}/data/report.txt", f"{home}/data/new.txt"
    with io.new_output(kept).create() as stream:
        stream.write(b"before")

    def write_both(table: Table) -> None:
        for location in (kept, new):
            with table.io.new_output(location).create(overwrite=True) as stream:
                stream.write(b"after")
        raise ArithmeticError("ours")

    with pytest.raises(ArithmeticError):
        _call(bank, write_both)

    assert io.new_input(kept).exists()
    assert not io.new_input(new).exists()
