"""A rival commits between our read and our write."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyiceberg.exceptions import CommitFailedException

from seriatim.errors import ConflictError
from solution import commit_with_retry
from tests.contract.checks import (
    add,
    check_conflicts,
    check_exhausted,
    check_handed_back,
    check_intact,
    check_no_residue,
)
from tests.faults.bank import Bank

# What PyIceberg 0.12 does by itself depends on these; 0.10 and 0.11 do not know them.
PROPERTIES: dict[str, dict[str, str]] = {
    "defaults": {},
    "no retries": {"commit.retry.num-retries": "0"},
    "four retries": {"commit.retry.num-retries": "4", "commit.retry.min-wait-ms": "1"},
    "snapshot isolation": {"write.update.isolation-level": "snapshot", "write.delete.isolation-level": "snapshot"},
}


@pytest.mark.parametrize("file_per_row", [True, False], ids=["own_file", "shared_file"])
@pytest.mark.parametrize("properties", PROPERTIES.values(), ids=PROPERTIES)
def test_the_next_attempt_sees_the_rivals_balance(
    empty_bank: Bank, properties: dict[str, str], file_per_row: bool
) -> None:
    """Whatever PyIceberg would retry, rebase or refuse by itself: the change is computed anew, by us."""
    bank = empty_bank.create(file_per_row=file_per_row, properties=properties)

    check_conflicts(commit_with_retry, bank, conflicts=1)


@pytest.mark.parametrize("conflicts", [0, 2, 4])
def test_a_rival_may_win_every_attempt_but_the_last(bank: Bank, conflicts: int) -> None:
    """Five attempts by default, counted from 0; each one sees all the rivals before it."""
    check_conflicts(commit_with_retry, bank, conflicts=conflicts)


def test_max_retries_counts_attempts(bank: Bank) -> None:
    """`max_retries=1` is one attempt, and enough when nobody interferes."""
    check_conflicts(commit_with_retry, bank, conflicts=0, max_retries=1)


@pytest.mark.parametrize("properties", PROPERTIES.values(), ids=PROPERTIES)
@pytest.mark.parametrize("max_retries", [1, 2])
def test_when_every_attempt_lost_the_caller_is_told_and_nothing_is_written(
    empty_bank: Bank, max_retries: int, properties: dict[str, str]
) -> None:
    """A swallowed conflict is a deposit that was confirmed and is not there."""
    bank = empty_bank.create(properties=properties)

    check_exhausted(commit_with_retry, bank, max_retries=max_retries)


def test_the_conflict_names_what_was_read_and_what_was_met(bank: Bank) -> None:
    """A caller of ours gets more than PyIceberg's exception, and still catches it as that."""
    bases: list[int | None] = []

    def rival(attempt: int) -> None:
        bases.append(bank.head())
        bank.deposit(10)

    call = add(commit_with_retry, bank.connect(), 1, rival=rival, max_retries=2)

    assert isinstance(call.error, ConflictError)
    assert isinstance(call.error, CommitFailedException)
    assert (call.error.expected, call.error.actual, call.error.attempts) == (bases[-1], bank.head(), 2)
    assert "account" in call.error.table


def test_a_rival_that_gets_in_while_the_balance_is_computed_is_seen(bank: Bank) -> None:
    """`mutate` may take its time: it runs after the read as `before_commit` does."""
    seen: list[int] = []

    def mutate(balance: int) -> int:
        if not seen:
            bank.deposit(10)
        seen.append(balance)
        return balance + 1

    assert commit_with_retry(bank.connect(), bank.identifier, mutate) == 111
    assert seen == [100, 110]
    assert bank.balances()[1] == 111


def test_a_change_that_depends_on_the_balance_is_computed_from_the_one_it_lands_on(bank: Bank) -> None:
    """Doubling does not commute with a deposit, so a change that is merely reapplied as a difference shows."""
    result = commit_with_retry(
        bank.connect(),
        bank.identifier,
        lambda balance: balance * 2,
        before_commit=lambda attempt: bank.deposit(10) if attempt == 0 else None,
    )

    assert result == 220
    assert bank.balances()[1] == 220


@pytest.mark.parametrize(
    "rival",
    [
        pytest.param(lambda bank: bank.open_account(4, 400), id="append"),
        pytest.param(lambda bank: bank.compact(), id="rewrite"),
        pytest.param(lambda bank: (bank.deposit(10), bank.deposit(-10)), id="there_and_back"),
        pytest.param(lambda bank: bank.set_property("owner", "treasury"), id="property"),
        pytest.param(lambda bank: bank.roll_back_a_deposit(10), id="rolled_back"),
        pytest.param(lambda bank: bank.append_to_branch("audit"), id="branch"),
    ],
)
def test_a_rival_that_leaves_the_balance_alone_loses_nothing_either(bank: Bank, rival: Callable[[Bank], None]) -> None:
    """Both end up in the table: the deposit once, and whatever the rival did."""
    call = add(commit_with_retry, bank.connect(), 1, rival=lambda attempt: None if attempt else rival(bank))

    assert call.error is None
    assert set(call.seen) == {100}
    assert call.value == 101
    balances = bank.balances()
    opened = {4: 400} if 4 in balances else {}
    assert balances == {1: 101, 2: 200, 3: 300} | opened
    check_intact(bank)
    check_no_residue(bank)


def test_what_such_a_rival_did_is_still_there(bank: Bank) -> None:
    """A commit on a stale base would take the new account and the new property back."""

    def rival(attempt: int) -> None:
        if attempt == 0:
            bank.open_account(4, 400)
            bank.set_property("owner", "treasury")

    add(commit_with_retry, bank.connect(), 1, rival=rival)

    assert bank.balances() == {1: 101, 2: 200, 3: 300, 4: 400}
    assert bank.table().properties["owner"] == "treasury"


def test_a_rival_of_our_own_kind_may_use_the_same_catalog_object(bank: Bank) -> None:
    """Its call begins and ends between our read and our write."""
    catalog = bank.connect()

    def rival(attempt: int) -> None:
        if attempt == 0:
            assert commit_with_retry(catalog, bank.identifier, lambda balance: balance + 10) == 110

    call = add(commit_with_retry, catalog, 1, rival=rival)

    assert (call.error, call.value) == (None, 111)
    assert bank.balances()[1] == 111
    check_handed_back(catalog)
    check_no_residue(bank)
