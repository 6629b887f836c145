"""What cannot be a balance, a row or a table is a named error that carries the value; nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pyiceberg.exceptions import NoSuchTableError

from seriatim.errors import BalanceError, DuplicateKeyError, InvalidChangeError, RowNotFoundError
from solution import commit_with_retry, read_balance
from tests.contract.checks import Call, add, check_no_residue
from tests.faults.bank import Bank, Row, account_schema
from tests.faults.catalog import FaultyCatalog


class Integral:
    """An integer that is no `int`, as NumPy's are: it would have to be converted, and only `int` is accepted."""

    def __index__(self) -> int:
        return 7

    __int__ = __index__

    def __repr__(self) -> str:
        return "Integral()"


NO_BALANCES: tuple[Any, ...] = (1.0, float("nan"), None, True, False, Decimal(1), "1", b"1", 1 + 0j, Integral(), [1])


def put(catalog: FaultyCatalog, value: Any) -> Call:
    """Have `mutate` return `value`."""
    call = Call()
    try:
        call.value = commit_with_retry(
            catalog, Bank.identifier, lambda balance: value, before_commit=call.attempts.append
        )
    except InvalidChangeError as error:
        call.error = error
    return call


@pytest.mark.parametrize("value", NO_BALANCES, ids=repr)
def test_what_is_no_int_is_no_balance(bank: Bank, value: Any) -> None:
    """Money is never rounded, parsed or taken for a truth value on the way into the table."""
    catalog = bank.connect()

    call = put(catalog, value)

    assert isinstance(call.error, BalanceError)
    assert call.error.value is value
    assert bank.balances() == {1: 100, 2: 200, 3: 300}
    assert (len(catalog.loaded), catalog.submitted) == (1, [])
    check_no_residue(bank)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("sign", [1, -1])
def test_an_int_beyond_the_columns_range_is_no_balance(empty_bank: Bank, bits: int, sign: int) -> None:
    """It would wrap around, or fail deep inside Arrow."""
    bank = empty_bank.create(schema=account_schema(bits=(64, bits)))
    value = 2 ** (bits - 1) if sign > 0 else -(2 ** (bits - 1)) - 1

    call = put(bank.connect(), value)

    assert isinstance(call.error, BalanceError)
    assert call.error.value == value
    assert bank.balances() == {1: 100, 2: 200, 3: 300}
    check_no_residue(bank)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_ends_of_the_columns_range_are_balances(empty_bank: Bank, bits: int, sign: int) -> None:
    """Every value that the column can hold can be written."""
    bank = empty_bank.create(schema=account_schema(bits=(64, bits)))
    value = 2 ** (bits - 1) - 1 if sign > 0 else -(2 ** (bits - 1))

    call = put(bank.connect(), value)

    assert (call.error, call.value) == (None, value)
    assert bank.balances() == {1: value, 2: 200, 3: 300}


def test_a_bad_value_on_a_later_attempt_leaves_the_rivals_balance(bank: Bank) -> None:
    """The attempt before it lost, and is cleaned up after."""
    values: list[Any] = [1, None]

    with pytest.raises(BalanceError):
        commit_with_retry(
            bank.connect(),
            bank.identifier,
            lambda balance: values.pop(0),
            before_commit=lambda attempt: bank.deposit(10),
        )

    assert values == []
    assert bank.balances() == {1: 110, 2: 200, 3: 300}
    check_no_residue(bank)


ROWS: dict[str, tuple[tuple[Row, ...], type[Exception], Callable[[Any], bool]]] = {
    "NULL": (({"id": 1, "bal": None},), BalanceError, lambda error: error.value is None),
    "no row": (({"id": 2, "bal": 1}, {"id": None, "bal": 1}), RowNotFoundError, lambda error: error.key == 1),
    "two rows": (({"id": 1, "bal": 1}, {"id": 1, "bal": 2}), DuplicateKeyError, lambda error: error.count == 2),
    "equal rows": (({"id": 1, "bal": 1},) * 2, DuplicateKeyError, lambda error: (error.key, error.count) == (1, 2)),
}


@pytest.mark.parametrize("file_per_row", [True, False], ids=["own_file", "shared_file"])
@pytest.mark.parametrize(("rows", "kind", "tells"), ROWS.values(), ids=ROWS)
def test_a_table_without_one_balance_of_id_1_is_an_error(
    empty_bank: Bank, rows: tuple[Row, ...], kind: type[Exception], tells: Callable[[Any], bool], file_per_row: bool
) -> None:
    """To guess a balance of 0, or to take the first of two, would lose money without a word."""
    bank = empty_bank.create(rows, file_per_row=file_per_row)
    catalog = bank.connect()
    before = bank.rows()

    call = add(commit_with_retry, catalog, 1)

    assert isinstance(call.error, kind)
    assert tells(call.error)
    assert (call.seen, call.attempts, catalog.submitted, len(catalog.loaded)) == ([], [], [], 1)
    assert bank.rows() == before
    with pytest.raises(kind):
        read_balance(bank.table())


def test_an_empty_table_has_no_row(empty_bank: Bank) -> None:
    """It has no snapshot either."""
    bank = empty_bank.create([])

    call = add(commit_with_retry, bank.connect(), 1)

    assert isinstance(call.error, RowNotFoundError)
    with pytest.raises(RowNotFoundError):
        read_balance(bank.table())


@pytest.mark.parametrize("identifier", ["bank.nobody", ("nowhere", "account")])
def test_a_missing_table_is_pyicebergs_own_error(bank: Bank, identifier: str | tuple[str, ...]) -> None:
    """Who loads tables knows it."""
    with pytest.raises(NoSuchTableError):
        commit_with_retry(bank.connect(), identifier, lambda balance: balance)


@pytest.mark.parametrize("max_retries", [0, -1])
def test_no_attempt_at_all_is_refused(bank: Bank, max_retries: int) -> None:
    """A loop that never runs would return without having written."""
    call = add(commit_with_retry, bank.connect(), 1, max_retries=max_retries)

    assert isinstance(call.error, ValueError)
    assert (call.seen, call.attempts) == ([], [])
    assert bank.balances()[1] == 100
