"""What `apply` promises when nothing goes wrong but a rival: pinned bases, reapply, operation ids applied once."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from seriatim.commit import Base, Declared, NoChange, RetryPolicy, Rewrite, Upsert, Winner, Writer
from seriatim.errors import ConflictError, InvalidChangeError, RowNotFoundError, UnconfirmedConflictError
from seriatim.version import VERSION
from tests.contract.apply_support import Deposit, Told, call, opening
from tests.faults.bank import Bank
from tests.faults.clock import ManualClock


def test_a_change_lands_on_the_base_it_read(bank: Bank) -> None:
    """The receipt names the base and the snapshots, and the summary says the same to whoever comes later."""
    base_id = bank.head()

    receipt = call(bank, Deposit(10), "deposits|1993-01-01", writer=Writer("run-1", host="machine-1"))

    assert bank.balances() == {1: 110, 2: 200, 3: 300}
    assert receipt.base_snapshot_id == base_id
    assert receipt.snapshot_ids[-1] == bank.head()
    assert (receipt.attempts, receipt.conflicts) == (1, ())
    assert (receipt.rows_written, receipt.rows_removed) == (1, 1)
    assert (receipt.files_added, receipt.files_removed) == (1, 1)
    for snapshot_id in receipt.snapshot_ids:
        snapshot = bank.table().snapshot_by_id(snapshot_id)
        assert snapshot is not None
        assert snapshot.summary is not None
        words = snapshot.summary.additional_properties
        assert json.loads(words["seriatim.operation-ids"]) == ["deposits|1993-01-01"]
        assert words["seriatim.base-snapshot-id"] == str(base_id)
        assert words["seriatim.base-sequence-number"] == "1"
        assert words["seriatim.run-id"] == "run-1"
        assert words["seriatim.host"] == "machine-1"
        assert words["seriatim.version"] == VERSION
        assert words["seriatim.reads"] == "EqualTo(term=Reference(name='id'), literal=LongLiteral(1))"


def test_what_a_change_says_of_its_sums_is_kept(bank: Bank) -> None:
    """For whoever audits the table; a sum of no column, or no whole number, is refused."""

    def declared(sums: dict[str, Any]) -> Callable[[Base], Declared]:
        return lambda base: Declared(Deposit(10)(base), sums=sums)

    call(bank, declared({"bal": 10}))
    for wrong in ({"balance": 10}, {"bal": 1.5}, {"bal": True}):
        with pytest.raises(InvalidChangeError):
            call(bank, declared(wrong))

    snapshot = bank.table().current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    assert json.loads(snapshot.summary.additional_properties["seriatim.sums"]) == {"bal": 10}
    assert bank.balances()[1] == 110


def test_a_loser_computes_anew_from_the_winners_snapshot(bank: Bank) -> None:
    """P2: each attempt loads, reads and computes anew; the first change came from a stale read and is dropped."""
    deposit = Deposit(10, lambda: bank.deposit(5))
    before = bank.head()

    receipt = call(bank, deposit)

    assert bank.balances() == {1: 115, 2: 200, 3: 300}
    assert [base.snapshot_id for base in deposit.bases] == [before, receipt.base_snapshot_id]
    assert receipt.attempts == 2


def test_a_conflict_is_told_at_once_with_who_won(bank: Bank) -> None:
    """P9: the observer hears before the next attempt computes; the winner's run and operations are named."""
    told = Told()
    known: list[int] = []

    def rival() -> None:
        call(bank, Deposit(5), "rival-operation", writer=Writer("rival-run"))

    deposit = Deposit(10, rival, lambda: known.append(len(told.conflicts)))
    before = bank.head()
    receipt = call(bank, deposit, "ours", observer=told)

    (conflict,) = told.conflicts
    assert known == [1]
    assert receipt.conflicts == (conflict,)
    assert (conflict.operation_ids, conflict.attempt) == (("ours",), 1)
    assert (conflict.expected_snapshot_id, conflict.actual_snapshot_id) == (before, receipt.base_snapshot_id)
    assert isinstance(conflict.winner, Winner)
    assert (conflict.winner.run_id, conflict.winner.operation_ids) == ("rival-run", ("rival-operation",))


def test_the_time_that_lost_attempts_took_is_told(bank: Bank) -> None:
    """P9: of each by its conflict, of all by the receipt; not that of the attempt that landed, nor of the pauses."""
    clock = ManualClock()

    def rival() -> None:
        clock.wait_s(2.0)
        bank.deposit(5)

    receipt = call(bank, Deposit(10, rival, rival, lambda: clock.wait_s(7.0)), clock=clock)

    assert [conflict.wasted_s for conflict in receipt.conflicts] == pytest.approx([2.0, 2.0])
    assert receipt.wasted_s == pytest.approx(4.0)


def test_of_several_that_came_in_between_the_first_is_the_winner(bank: Bank) -> None:
    """It is the one that the base could have been, had the loser been quicker."""

    def rivals() -> None:
        for name in ("first", "second", "third"):
            call(bank, Deposit(5), name)

    receipt = call(bank, Deposit(10, rivals), "ours")

    (conflict,) = receipt.conflicts
    assert conflict.winner is not None
    assert conflict.winner.operation_ids == ("first",)
    assert conflict.actual_snapshot_id == receipt.base_snapshot_id != conflict.winner.snapshot_id


def test_a_conflict_without_a_new_snapshot_has_no_winner(bank: Bank) -> None:
    """A schema change makes no snapshot, and yet the base is no longer what was read."""
    told = Told()

    with pytest.raises(UnconfirmedConflictError) as caught:
        call(bank, Deposit(10, bank.add_column, lambda: _stop("note")), observer=told)

    assert str(caught.value.__cause__) == "note"  # What the change raised; the first attempt may, in theory, land yet.
    (conflict,) = told.conflicts
    assert conflict.winner is None
    assert conflict.expected_snapshot_id == conflict.actual_snapshot_id


def test_an_operation_that_has_landed_is_not_applied_again(bank: Bank) -> None:
    """P4: the change is not even computed; the receipt names the snapshot that did it."""
    first = call(bank, Deposit(10), "once")
    again = Deposit(10)

    receipt = call(bank, again, "once")

    assert bank.balances()[1] == 110
    assert again.bases == []
    assert receipt.is_noop
    assert receipt.already_applied == {"once": first.snapshot_ids[-1]}


def test_a_twin_that_lands_between_read_and_write_is_found_by_the_next_attempt(bank: Bank) -> None:
    """P4: the id is looked up at each attempt. A zombie and its retry share an id, and only one of them applies it."""
    deposit = Deposit(10, lambda: _discard(call(bank, Deposit(10), "twin")))

    receipt = call(bank, deposit, "twin")

    assert bank.balances()[1] == 110
    assert receipt.is_noop
    assert set(receipt.already_applied) == {"twin"}


def test_what_has_landed_of_a_range_is_not_pending(bank: Bank) -> None:
    """A range of partitions is one id each; the change is told which of them are left, in the order given."""
    call(bank, Deposit(10), "b")
    rest = Deposit(1)

    receipt = call(bank, rest, "c", "b", "a")

    assert rest.bases[0].pending == ("c", "a")
    assert set(receipt.already_applied) == {"b"}
    assert call(bank, Deposit(1), "a", "c").is_noop


def test_an_operation_without_effect_counts_as_done(bank: Bank) -> None:
    """An empty change lands its id in a snapshot without rows."""
    receipt = call(bank, lambda base: NoChange(), "nothing")

    assert bank.balances() == {1: 100, 2: 200, 3: 300}
    assert receipt.rows_written == 0
    assert call(bank, Deposit(10), "nothing").is_noop


def test_an_empty_change_without_an_id_writes_nothing(bank: Bank) -> None:
    """Nothing was asked to be remembered, so no snapshot is made."""
    before = bank.head()

    receipt = call(bank, lambda base: NoChange())

    assert receipt.is_noop
    assert bank.head() == before


def test_a_rewrite_of_a_key_that_no_row_has_is_refused(bank: Bank) -> None:
    """Rewrite is for rows that are there; a key without a row is a mistake, or a case for Upsert."""
    before = bank.head()

    with pytest.raises(RowNotFoundError) as caught:
        call(bank, lambda base: Rewrite(_two_rows(base), keys="id"))

    assert caught.value.key == 4
    assert bank.head() == before
    assert bank.inventory().unreachable == []


def test_an_upsert_replaces_what_is_there_and_inserts_the_rest(bank: Bank) -> None:
    """By key; the other rows keep their values."""
    receipt = call(bank, lambda base: Upsert(_two_rows(base), keys=["id"]))

    assert bank.balances() == {1: 100, 2: 200, 3: 1, 4: 2}
    assert len(receipt.snapshot_ids) == 1


def test_the_first_rows_of_an_empty_table_are_pinned_to_its_emptiness(empty_bank: Bank) -> None:
    """Two first writers that each found the table empty are a conflict; 0.12 alone would land both."""
    bank = empty_bank.create(())

    receipt = call(bank, opening(1, 100, lambda: bank.open_account(2, 200)), "opening")

    assert bank.balances() == {1: 100, 2: 200}
    assert receipt.attempts == 2


def test_exhausted_attempts_leave_the_table_as_the_rivals_left_it(bank: Bank) -> None:
    """The error says from what the last attempt was computed and what it met."""
    rivals = [lambda: bank.deposit(5)] * 2

    with pytest.raises(ConflictError) as caught:
        call(bank, Deposit(10, *rivals), policy=RetryPolicy(attempts_max=2))

    assert bank.balances()[1] == 110
    assert (caught.value.attempts, caught.value.actual) == (2, bank.head())
    assert bank.inventory().unreachable == []


def _two_rows(base: Base) -> pa.Table:
    return pa.Table.from_pylist([{"id": 3, "bal": 1}, {"id": 4, "bal": 2}], schema=base.schema.as_arrow())


def _discard(value: object) -> None:
    del value


def _stop(message: str) -> None:
    raise RuntimeError(message)


def test_a_call_leaves_nothing_for_the_collector_of_garbage(bank: Bank) -> None:
    """What it was given and what it held is free when it returns."""
    call(bank, Deposit(10))  # What is parsed for the first time leaves PyIceberg's parser's exceptions behind.
    change, observer = Deposit(10), Told()
    held = weakref.ref(change), weakref.ref(observer)
    gc.disable()
    try:
        call(bank, change, observer=observer)
        del change, observer
        left = [ref() for ref in held]
    finally:
        gc.enable()

    assert left == [None, None]
