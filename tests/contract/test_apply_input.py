"""P7: what cannot be applied is refused by a named error that says what is wrong, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.types import ListType, NestedField, StringType

from seriatim.commit import Append, LedgerPolicy, Partitions, RetryPolicy, Rewrite, Stream, Writer, apply
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


@pytest.mark.parametrize("ids", [("",), ("a", "a"), (1,), ("load|r\udce9sum.csv",)])
def test_an_operation_id_must_name_one_thing(bank: Bank, ids: tuple[Any, ...]) -> None:
    """An id that is empty, given twice or no text could not be told from another; half a surrogate is no text."""
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
    assert receipt.took_s == pytest.approx(clock.seconds)  # Only waiting takes time here.


def test_the_time_of_a_call_is_bounded(bank: Bank) -> None:
    """P6: no further attempt begins when the time is up, though attempts are left."""
    clock = ManualClock()
    policy = RetryPolicy(attempts_max=100, total_s_max=5.0, wait_s_first=0.05)

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


BAD_NAMES: dict[str, Callable[[], dict[str, Any]]] = {
    "issued at a fraction": lambda: {"issued_at_ms": 1_796_007_129_349.5},
    "issued at a text": lambda: {"issued_at_ms": "2024-01-01"},
    "issued at microseconds": lambda: {"issued_at_ms": 1_796_007_129_349_506},
    "issued in the year 10000": lambda: {"issued_at_ms": 253_402_300_800_000},
    "issued before 1970": lambda: {"issued_at_ms": -1},
    "a partition that is no UTF-8": lambda: {"partitions": Partitions("asset", ["\udce9"])},
    "a partition that is a number": lambda: {"partitions": Partitions("asset", [1])},  # type: ignore[list-item]
    "an asset without a name": lambda: {"partitions": Partitions("", ["1"])},
    "a stream that is no UTF-8": lambda: {"stream": Stream("\udce9", upto=1, after=None)},
    "a stream up to a text": lambda: {"stream": Stream("s", upto="b", after=None)},  # type: ignore[arg-type]
    "a stream after a fraction": lambda: {"stream": Stream("s", upto=2, after=1.5)},  # type: ignore[arg-type]
    "a run that is a number": lambda: {"writer": Writer(run_id=17_424_242)},  # type: ignore[arg-type]
    "a run that is no UTF-8": lambda: {"writer": Writer(run_id="\udce9")},
}


@pytest.mark.parametrize("what", BAD_NAMES)
def test_what_a_commit_cannot_carry_is_refused_before_anything_is_written(bank: Bank, what: str) -> None:
    """It would land once, and then nobody could read the ledger: the table would be closed to everybody."""
    before = bank.head()

    with pytest.raises(InvalidChangeError):
        call(bank, Deposit(10), "op", **BAD_NAMES[what]())

    assert bank.head() == before
    assert not call(bank, Deposit(10), "another").is_noop


def test_names_may_come_from_a_generator_and_the_identifier_as_a_list(bank: Bank) -> None:
    """Each is what it says, whatever it comes in."""
    apply(bank.connect(), bank.identifier.split("."), Deposit(10), operation_ids=(name for name in "ab"))  # type: ignore[arg-type]

    assert call(bank, Deposit(10), "a", "b").is_noop


@pytest.mark.parametrize("bound", ["window_s", "recent_max", "recent_bytes_max"])
@pytest.mark.parametrize("value", [-1, float("inf"), float("nan"), 10**12])
def test_a_ledger_has_bounds_that_can_be_reckoned_with(bound: str, value: float) -> None:
    """A window without end would go well until the first fold."""
    with pytest.raises(ValueError, match=bound):
        LedgerPolicy(**{bound: value})  # type: ignore[arg-type]


def test_hundreds_of_edits_are_one_change(bank: Bank) -> None:
    """They do not make an expression that is too deep to be looked at."""
    edits = [Rewrite(_table(id=pa.array([1], LONG), bal=pa.array([bal], LONG)), keys="id") for bal in range(600)]

    call(bank, lambda base: edits)

    assert bank.balances() == {1: 599, 2: 200, 3: 300}
