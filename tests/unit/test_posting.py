"""Posting a batch onto balances, by itself and against the oracle."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from random import Random

import pytest

from assets.batch import Batch, Transaction
from assets.errors import PostingOverflowError, UnknownAccountError
from assets.kinds import KINDS, kind_named
from assets.posting import post
from assets.transactions import read_transactions
from oracle.bank import Operation, replay
from oracle.verdict import compare
from pipelines.generated_bank import generate_bank, write_bank
from seriatim.errors import SeriatimError
from tests.oracle.days import batch_of, by_day, of_day

PATH = Path("bank.csv")
DAY = date(1993, 1, 5)
REAL = os.environ.get("SERIATIM_TRANSACTIONS_REAL")


def batch(kind: str, *transactions: tuple[int, int, int], days: Sequence[date] = ()) -> Batch:
    """Make a batch of (trans_id, account_id, amount_minor), all of one day unless days are given."""
    return Batch(
        PATH,
        kind_named(kind),
        tuple(
            Transaction(row, trans_id, account_id, days[row - 1] if days else DAY, amount_minor)
            for row, (trans_id, account_id, amount_minor) in enumerate(transactions, start=1)
        ),
    )


def test_recorded_amounts_are_added() -> None:
    """Only accounts that changed are returned: what is written is what has changed."""
    balances = {1: 1000, 2: 500, 3: 7, 4: 9}

    posting = post(balances, batch("household", (1, 1, -300), (2, 2, -600), (3, 1, -50), (4, 4, 0)))

    assert posting.balances_minor == {1: 650, 2: -100}
    assert posting.rows_changed == 2
    assert posting.sum_posted_minor == -950
    assert posting.transactions == 4
    assert posting.refused == ()
    assert balances == {1: 1000, 2: 500, 3: 7, 4: 9}


def test_an_account_that_ends_where_it_began_is_not_changed() -> None:
    """There is nothing to write for it."""
    posting = post({1: 1000}, batch("transfer_in", (1, 1, 300), (2, 1, -300)))

    assert (posting.balances_minor, posting.rows_changed, posting.sum_posted_minor) == ({}, 0, 0)


def test_an_empty_batch_posts_nothing() -> None:
    """A day without business is still posted, once."""
    posting = post({1: 1000}, batch("loan"))

    assert (posting.balances_minor, posting.sum_posted_minor, posting.transactions) == ({}, 0, 0)


def test_a_standing_order_meets_the_running_balance_in_order_of_id() -> None:
    """The first takes 70 of 100, so the second (60) is refused, and the third (30) fits; by id, not as given."""
    posting = post({1: 100}, batch("standing_order", (3, 1, -30), (1, 1, -70), (2, 1, -60)))

    assert posting.balances_minor == {1: 0}
    assert posting.sum_posted_minor == -100
    assert posting.refused == (2,)


def test_days_come_before_ids() -> None:
    """Of several days the earlier posts first, even where its ids are higher."""
    order = batch("standing_order", (1, 1, -70), (9, 1, -60), days=[DAY + timedelta(days=1), DAY])

    posting = post({1: 100}, order)

    assert posting.balances_minor == {1: 40}
    assert posting.refused == (1,)


def test_interest_is_computed_from_the_balance_it_meets() -> None:
    """The second rate meets what the first has left: 1000.00, then 1010.00; account 2 is overdrawn."""
    posting = post({1: 100_000, 2: -100_000}, batch("percentage_interest", (1, 1, 100), (2, 1, 100), (3, 2, 100)))

    assert posting.balances_minor == {1: 102_010}
    assert posting.sum_posted_minor == 2_010


def test_a_fee_is_computed_from_the_balance_it_meets() -> None:
    """1 % of 100.00, then 1 % of 99.00, capped; what was charged is a negative sum."""
    posting = post({1: 10_000}, batch("balance_fee", (1, 1, -500), (2, 1, -500), (3, 1, -10)))

    assert posting.balances_minor == {1: 9_791}
    assert posting.sum_posted_minor == -209


def test_an_account_without_a_balance_is_an_error() -> None:
    """Posting never opens an account."""
    with pytest.raises(UnknownAccountError) as caught:
        post({1: 100}, batch("loan", (1, 1, -70), (2, 6, -60)))

    assert (caught.value.place, caught.value.row, caught.value.account_id) == (PATH, 2, 6)


@pytest.mark.parametrize(("balance", "amount"), [(2**63 - 100, 100), (-(2**63) + 100, -101)])
def test_a_balance_beyond_int64_is_an_error(balance: int, amount: int) -> None:
    """It names the transaction, the balance that it met, and the change."""
    with pytest.raises(PostingOverflowError) as caught:
        post({1: balance - 5}, batch("transfer_in", (7, 1, 5), (8, 1, amount)))

    assert isinstance(caught.value, SeriatimError)
    assert (caught.value.place, caught.value.row, caught.value.trans_id) == (PATH, 2, 8)
    assert (caught.value.account_id, caught.value.balance_minor, caught.value.change_minor) == (1, balance, amount)


def test_the_ends_of_int64_are_balances() -> None:
    """The last cent that fits is not refused."""
    credit = post({1: 2**63 - 101}, batch("transfer_in", (1, 1, 100)))
    debit = post({1: -(2**63) + 100}, batch("transfer_out", (1, 1, -100)))

    assert (credit.balances_minor, debit.balances_minor) == ({1: 2**63 - 1}, {1: -(2**63)})


@pytest.mark.parametrize("seed", range(6))
def test_posting_agrees_with_the_oracle_in_any_order(tmp_path: Path, seed: int) -> None:
    """Two readings of the same rules, on operations in a random order, days in batches of random length."""
    print(f"seed {seed}")
    rng = Random(seed)
    path = tmp_path / ("bank.csv" if seed % 2 else "bank.parquet")
    write_bank(path, generate_bank(seed, DAY, days=30, accounts=12, transactions=900))
    transactions = read_transactions(path)
    runs = [
        (kind, transactions.days()[start : start + length])
        for kind in KINDS
        for length in [1 + rng.randrange(12)]
        for start in range(0, len(transactions.days()), length)
    ]
    rng.shuffle(runs)

    balances = dict.fromkeys(transactions.account_ids(), 0)
    for kind, days in runs:
        balances.update(post(balances, batch_of(transactions, kind, days)).balances_minor)

    expected = replay(by_day(path), [of_day(kind.name, day) for kind, days in runs for day in days])
    assert compare(expected, balances).is_equal


@pytest.mark.skipif(REAL is None, reason="SERIATIM_TRANSACTIONS_REAL names no file: the real bank year is not at hand")
def test_posting_the_real_bank_year_agrees_with_the_oracle() -> None:
    """A whole year, in runs of a kind and all its days; as recorded amounts commute, any order gives the plain sums."""
    transactions = read_transactions(str(REAL))
    balances = dict.fromkeys(transactions.account_ids(), 0)
    for kind in transactions.kinds():
        balances.update(post(balances, transactions.of(kind)).balances_minor)

    arrivals = by_day(str(REAL))
    whole = [Operation(kind.name, -1, max(arrivals)) for kind in transactions.kinds()]
    verdict = compare(replay(arrivals, whole), balances)

    assert verdict.is_equal
    assert verdict.accounts == 1_139
    assert sum(balances.values()) == 3_657_594_610
