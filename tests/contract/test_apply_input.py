"""P7: what cannot be applied is refused by a named error that says what is wrong, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.types import ListType, NestedField, StringType

from seriatim.commit import Append, RetryPolicy, Rewrite
from seriatim.errors import ConflictError, DuplicateKeyError, InvalidChangeError
from tests.contract.apply_support import Deposit, call
from tests.faults.bank import Bank, account_schema
from tests.faults.clock import ManualClock

LONG = pa.int64()


def _table(**columns: Any) -> pa.Table:
    return pa.table(columns)


BAD_CHANGES: dict[str, Callable[[], object]] = {
    "lacks a column": lambda: Append(_table(id=pa.array([4], LONG))),
    "has one too many": lambda: Append(_table(id=pa.array([4], LONG), bal=pa.array([1], LONG), x=pa.array([1], LONG))),
    "has text for a number": lambda: Append(_table(id=pa.array(["4"]), bal=pa.array([1], LONG))),
    "has a null key": lambda: Rewrite(_table(id=pa.array([None], LONG), bal=pa.array([1], LONG)), keys="id"),
    "tells rows by no column": lambda: Rewrite(_table(id=pa.array([4], LONG), bal=pa.array([1], LONG)), keys="name"),
    "is no Arrow table": lambda: Append([{"id": 4, "bal": 1}]),
    "is no change": lambda: {"id": 4},
    "is nothing": lambda: None,
}


@pytest.mark.parametrize("what", BAD_CHANGES)
def test_a_change_that_does_not_fit_is_refused(bank: Bank, what: str) -> None:
    """Every one of these would lose or spoil data if it were written, or fail half-way."""
    before = bank.head()

    with pytest.raises(InvalidChangeError, match=r"bank\.account"):
        call(bank, lambda base: BAD_CHANGES[what](), "op")

    assert bank.head() == before
    assert bank.inventory().unreachable == []


def test_nested_columns_are_columns_of_the_table_too(empty_bank: Bank) -> None:
    """A list column is one column, and not a second one for its elements."""
    tags = NestedField(3, "tags", ListType(element_id=4, element_type=StringType(), element_required=False))
    bank = empty_bank.create((), schema=account_schema(tags))
    rows = pa.table({"id": [1], "bal": [2], "tags": pa.array([["a", "b"]], pa.large_list(pa.large_string()))})

    call(bank, lambda base: Append(rows))
    call(bank, Deposit(10))

    assert bank.rows() == [{"id": 1, "bal": 12, "tags": ["a", "b"]}]


def test_a_key_given_twice_is_refused_with_its_value(bank: Bank) -> None:
    """Which of the two should win is not ours to say."""
    rows = _table(id=pa.array([3, 2, 3], LONG), bal=pa.array([1, 2, 3], LONG))

    with pytest.raises(DuplicateKeyError) as caught:
        call(bank, lambda base: Rewrite(rows, keys="id"))

    assert (caught.value.key, caught.value.count) == (3, 2)
    assert bank.balances() == {1: 100, 2: 200, 3: 300}


@pytest.mark.parametrize("ids", [("",), ("a", "a"), (1,)])
def test_an_operation_id_must_name_one_thing(bank: Bank, ids: tuple[Any, ...]) -> None:
    """An id that is empty, given twice or no text could not be told from another."""
    with pytest.raises(InvalidChangeError):
        call(bank, Deposit(10), *ids)

    assert bank.balances()[1] == 100


def test_waits_between_attempts_are_bounded_and_random(bank: Bank) -> None:
    """P6: full jitter below a ceiling that doubles up to a limit; the clock is told to wait, nobody sleeps."""
    clock = ManualClock()
    policy = RetryPolicy(attempts_max=4, wait_s_first=1.0, wait_s_max=2.0)

    receipt = call(bank, Deposit(10, *[lambda: bank.deposit(1)] * 3), clock=clock, policy=policy)

    assert len(clock.waits) == 3
    assert all(0 <= wait <= ceiling for wait, ceiling in zip(clock.waits, (1.0, 2.0, 2.0), strict=True))
    assert len(set(clock.waits)) == 3
    assert receipt.waited_s == pytest.approx(sum(clock.waits))


def test_the_time_of_a_call_is_bounded(bank: Bank) -> None:
    """P6: no further attempt begins when the time is up, though attempts are left."""
    clock = ManualClock()
    policy = RetryPolicy(attempts_max=100, total_s_max=5.0)

    def slow_rival() -> None:
        bank.deposit(1)
        clock.seconds += 2.0

    with pytest.raises(ConflictError) as caught:
        call(bank, Deposit(10, *[slow_rival] * 100), clock=clock, policy=policy)

    assert caught.value.attempts == 3
    assert bank.balances()[1] == 103


@pytest.mark.parametrize("bounds", [{"attempts_max": 0}, {"total_s_max": -1.0}, {"wait_s_max": -1.0}])
def test_a_policy_that_allows_nothing_is_refused(bounds: dict[str, Any]) -> None:
    """A limit below nothing is a mistake, not a wish."""
    with pytest.raises(ValueError, match=next(iter(bounds))):
        RetryPolicy(**bounds)
