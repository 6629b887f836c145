"""Between our read and our write the table itself changes: its schema, its history, or it is another table."""

from __future__ import annotations

import pytest
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError

from seriatim.errors import BalanceError, DuplicateKeyError, OutcomeUnknownError, RowNotFoundError
from solution import commit_with_retry
from tests.contract.checks import add, check_handed_back, check_intact, check_no_residue
from tests.contract.ledger_support import expire_as_pyiceberg_does
from tests.faults.bank import Bank


def test_a_new_column_is_met_on_a_new_attempt(bank: Bank) -> None:
    """The row was read under a schema that is no longer the table's, so it is read again."""
    call = add(commit_with_retry, bank.connect(), 1, rival=lambda attempt: None if attempt else bank.add_column())

    assert (call.error, call.value) == (None, 101)
    assert call.attempts == [0, 1]
    assert bank.rows()[0] == {"id": 1, "bal": 101, "note": None}
    check_no_residue(bank)


def test_a_column_that_was_dropped_and_added_again_is_read_again(bank: Bank) -> None:
    """The snapshot has not moved when the schema has: the old balance belongs to a column that is gone."""
    call = add(
        commit_with_retry,
        bank.connect(),
        1,
        rival=lambda attempt: None if attempt else bank.replace_balance_column(500),
    )

    assert (call.error, call.value) == (None, 501)
    assert call.seen == [100, 500]
    assert bank.balances() == {1: 501, 2: 500, 3: 500}
    check_intact(bank)


def test_a_column_that_was_dropped_and_added_again_without_values_is_an_error(bank: Bank) -> None:
    """A balance of the dropped column must not come back to life in the new one."""
    call = add(
        commit_with_retry,
        bank.connect(),
        1,
        rival=lambda attempt: None if attempt else bank.replace_balance_column(None),
    )

    assert isinstance(call.error, BalanceError)
    assert call.error.value is None
    assert bank.balances() == {1: None, 2: None, 3: None}
    check_intact(bank)  # The base is still the head, so the refused attempt is not proven dead and may keep its files.


def test_snapshots_that_expire_under_us_are_no_conflict(bank: Bank) -> None:
    """Maintenance drops history, not the base."""
    bank.deposit(10)

    call = add(
        commit_with_retry, bank.connect(), 1, rival=lambda attempt: None if attempt else bank.expire_all_but_head()
    )

    assert (call.error, call.value) == (None, 111)
    assert bank.balances() == {1: 111, 2: 200, 3: 300}
    check_intact(bank)


def test_a_rival_that_commits_and_expires_our_base_is_seen(bank: Bank) -> None:
    """The walk to the base is cut, yet the ledger's tag shows that ours was never there."""
    commit_with_retry(bank.connect(), bank.identifier, lambda balance: balance)

    def rival(attempt: int) -> None:
        if attempt == 0:
            bank.deposit(10)
            expire_as_pyiceberg_does(bank)

    call = add(commit_with_retry, bank.connect(), 1, rival=rival)

    assert (call.error, call.value) == (None, 111)
    assert call.seen == [100, 110]
    assert bank.balances() == {1: 111, 2: 200, 3: 300}
    check_intact(bank)


def test_a_history_cut_beyond_our_attempt_is_never_taken_for_a_proof(bank: Bank) -> None:
    """Nothing is left where our snapshot would be: the caller is told that, or the change has been applied once."""

    def rival(attempt: int) -> None:
        if attempt == 0:
            bank.deposit(10)
            bank.deposit(20)
            bank.expire_all_but_head()

    call = add(commit_with_retry, bank.connect(), 1, rival=rival)

    assert isinstance(call.error, OutcomeUnknownError | None)
    assert bank.balances()[1] == (131 if call.error is None else 130)
    check_intact(bank)


def test_a_row_that_a_rival_removed_is_not_brought_back(bank: Bank) -> None:
    """The account was closed after we had read it."""
    call = add(commit_with_retry, bank.connect(), 1, rival=lambda attempt: None if attempt else bank.close_account(1))

    assert isinstance(call.error, RowNotFoundError)
    assert bank.balances() == {2: 200, 3: 300}
    check_no_residue(bank)


def test_a_second_row_that_a_rival_added_is_an_error(bank: Bank) -> None:
    """Overwriting `id = 1` would silently replace two rows by one."""
    call = add(commit_with_retry, bank.connect(), 1, rival=lambda attempt: None if attempt else bank.open_account(1, 5))

    assert isinstance(call.error, DuplicateKeyError)
    assert sorted(row["bal"] for row in bank.rows()) == [5, 100, 200, 300]
    check_no_residue(bank)


def test_a_table_that_was_dropped_and_created_anew_is_started_afresh(bank: Bank) -> None:
    """Another table of the same name is what the identifier means now."""
    catalog = bank.connect()

    call = add(
        commit_with_retry, catalog, 1, rival=lambda attempt: None if attempt else bank.replace([{"id": 1, "bal": 500}])
    )

    assert (call.error, call.value) == (None, 501)
    assert call.seen == [100, 500]
    assert bank.balances() == {1: 501}
    assert bank.inventory().missing == []
    check_handed_back(catalog)


def test_on_the_last_attempt_such_a_table_is_a_conflict(bank: Bank) -> None:
    """What was computed from the old table's balance must not reach the new one."""
    call = add(
        commit_with_retry,
        bank.connect(),
        1,
        rival=lambda attempt: bank.replace([{"id": 1, "bal": 500}]),
        max_retries=1,
    )

    assert isinstance(call.error, CommitFailedException)
    assert bank.balances() == {1: 500}
    assert bank.inventory().missing == []


@pytest.mark.parametrize("max_retries", [1, 2])
def test_a_table_that_was_dropped_is_missing_and_stays_so(bank: Bank, max_retries: int) -> None:
    """A commit whose requirements are wrong would create it again."""
    catalog = bank.connect()

    call = add(
        commit_with_retry, catalog, 1, rival=lambda attempt: None if attempt else bank.drop(), max_retries=max_retries
    )

    assert isinstance(call.error, NoSuchTableError)
    with bank.rival() as other:
        assert not other.table_exists(bank.identifier)
