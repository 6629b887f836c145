"""Streams are applied in order, each step once; a gap or an overlap is an error, and writes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from seriatim.commit import Receipt, pinned
from seriatim.commit.ledger_policy import LedgerPolicy
from seriatim.commit.streams import Stream
from seriatim.errors import HistoryCutError, InvalidChangeError, StreamGapError
from tests.contract.apply_support import Deposit, call, settings
from tests.contract.ledger_support import expire_unreferenced, head, note, roll_back, words
from tests.faults.bank import Bank


def _step(bank: Bank, after: int | None, upto: int, *, name: str = "orders", **options: Any) -> Receipt:
    return call(bank, Deposit(1), stream=Stream(name, upto, after), **options)


@pytest.mark.parametrize("policy", [LedgerPolicy(), LedgerPolicy(recent_bytes_max=0)])
def test_steps_are_applied_in_order_and_once(bank: Bank, policy: LedgerPolicy) -> None:
    """A step may go further than by one: it declares its predecessor. The place is kept over folds and expiry."""
    _step(bank, None, 3, ledger=policy)
    first = _step(bank, 3, 10, ledger=policy)
    bank.open_account(4, 400)
    note(bank, "between", ledger=policy)
    expire_unreferenced(bank)

    again = _step(bank, 3, 10, ledger=policy)
    older = _step(bank, None, 3, ledger=policy)
    following = _step(bank, 10, 11, ledger=policy)

    assert again.already_applied == {"orders@10": first.snapshot_ids[-1]}
    assert older.is_noop
    assert not following.is_noop
    assert bank.balances()[1] == 103


@pytest.mark.parametrize(("after", "upto"), [(11, 12), (9, 12), (None, 12), (3, 11)])
def test_a_gap_or_an_overlap_is_an_error(bank: Bank, after: int | None, upto: int) -> None:
    """The error says where the stream is, and from there the caller may go on."""
    _step(bank, None, 10)
    before = bank.head()

    with pytest.raises(StreamGapError) as caught:
        _step(bank, after, upto)

    assert (caught.value.stream, caught.value.watermark) == ("orders", 10)
    assert (caught.value.after, caught.value.upto) == (after, upto)
    assert bank.head() == before
    assert bank.inventory().unreachable == []


def test_a_stream_that_has_not_begun_has_no_predecessor(bank: Bank) -> None:
    """Whoever says that something came before is at the wrong table."""
    with pytest.raises(StreamGapError) as caught:
        _step(bank, 4, 5)

    assert caught.value.watermark is None
    assert bank.balances()[1] == 100


def test_streams_do_not_share_a_place(bank: Bank) -> None:
    """Each has its own."""
    _step(bank, None, 10)

    assert not _step(bank, None, 2, name="payments").is_noop
    assert not _step(bank, 2, 3, name="payments").is_noop
    assert _step(bank, 9, 10).is_noop


def test_the_loser_of_a_race_for_a_step_does_not_apply_it(bank: Bank) -> None:
    """The place is looked up at each attempt: the twin's step is found, a rival's overlapping one is an error."""
    twin = call(bank, Deposit(1, lambda: _discard(_step(bank, None, 5))), stream=Stream("orders", 5, None))
    with pytest.raises(StreamGapError):
        call(bank, Deposit(1, lambda: _discard(_step(bank, 5, 6))), stream=Stream("orders", 7, 5))

    assert twin.is_noop
    assert bank.balances()[1] == 102
    assert bank.inventory().unreachable == []


def test_a_rollback_takes_the_place_back_with_the_rows(bank: Bank) -> None:
    """The step is applied again where its rows are gone."""
    _step(bank, None, 5)
    kept_id = head(bank).snapshot_id
    _step(bank, 5, 6)
    roll_back(bank, kept_id)

    assert not _step(bank, 5, 7).is_noop
    assert bank.balances()[1] == 102


def test_a_cut_history_fails_closed(bank: Bank) -> None:
    """Where the stream is cannot be told, not even whether it has begun."""
    bank.deposit(5)
    bank.expire_all_but_head()

    with pytest.raises(HistoryCutError):
        _step(bank, None, 5)


def test_a_step_without_rows_moves_the_place(bank: Bank) -> None:
    """An empty version of the source is a version, also for `pinned`."""
    step = Stream("orders", 5, None)

    first = pinned(bank.connect(), bank.identifier, lambda table: None, stream=step, **settings({}))
    again = pinned(bank.connect(), bank.identifier, lambda table: None, stream=step, **settings({}))

    assert not first.is_noop
    assert again.is_noop
    assert words(head(bank))["seriatim.stream"] == '["orders",null,5]'


def test_a_step_may_carry_operation_ids(bank: Bank) -> None:
    """What is left of them is pending, and the step with it."""
    call(bank, Deposit(1), "a")
    deposit = Deposit(1)

    receipt = call(bank, deposit, "a", "b", stream=Stream("orders", 5, None))

    assert deposit.bases[0].pending == ("b", "orders@5")
    assert set(receipt.already_applied) == {"a"}
    assert call(bank, Deposit(1), "a", "b", stream=Stream("orders", 5, None)).is_noop


def test_many_streams_do_not_fill_the_summary(bank: Bank) -> None:
    """What is too much for it goes into the ledger file, and is found there."""
    for number in range(12):
        _step(bank, None, number, name=f"stream {number}", ledger=LedgerPolicy(recent_bytes_max=200))

    assert len(words(head(bank)).get("seriatim.watermarks", "")) <= 200
    assert all(_step(bank, None, number, name=f"stream {number}").is_noop for number in range(12))
    assert bank.balances()[1] == 112


@pytest.mark.parametrize(("name", "upto", "after"), [("", 1, 0), ("a", 1, 1), ("a", 1, 2)])
def test_a_step_has_a_name_and_goes_forward(name: str, upto: int, after: int) -> None:
    """Anything else is a mistake of the caller's."""
    with pytest.raises(InvalidChangeError):
        Stream(name, upto, after)


def _discard(value: object) -> None:
    del value
