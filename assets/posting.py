"""Posting: what a batch of transactions makes of the balances it meets. Pure: the same input gives the same result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from assets.batch import Batch, Transaction
from assets.errors import PostingOverflowError
from assets.kinds import change_minor
from assets.transaction_checks import require_accounts

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


@dataclass(slots=True)
class DayPosted:
    """What of a batch is of one business day."""

    transactions: int = 0
    refused: int = 0
    sum_posted_minor: int = 0


@dataclass(frozen=True, slots=True)
class Posting:
    """The outcome of a batch: the new balances of the accounts that it changed, and what was added in all."""

    balances_minor: Mapping[int, int]
    sum_posted_minor: int
    transactions: int
    refused: tuple[int, ...]  # trans_ids, in the order in which they were met
    days: Mapping[date, DayPosted] = field(default_factory=dict)

    @property
    def rows_changed(self) -> int:
        """Count the accounts whose balance is another than before."""
        return len(self.balances_minor)


NOTHING_POSTED: Final = Posting({}, sum_posted_minor=0, transactions=0, refused=())


def post(balances_minor: Mapping[int, int], batch: Batch) -> Posting:
    """Apply the batch to the balances, one transaction after another: by day, then by id.

    `balances_minor` must hold the batch's accounts and may hold others. Each transaction meets the balance that the
    ones before it left; the mapping itself is not changed.

    Raises:
        UnknownAccountError: a transaction names an account that `balances_minor` lacks.
        PostingOverflowError: a balance would leave the range of int64.
    """
    require_accounts(batch, balances_minor)
    running = {account_id: balances_minor[account_id] for account_id in batch.account_ids()}
    days: dict[date, DayPosted] = {}
    refused: list[int] = []
    for transaction in sorted(batch.transactions, key=lambda each: (each.day, each.trans_id)):
        balance, day = running[transaction.account_id], days.setdefault(transaction.day, DayPosted())
        day.transactions += 1
        change = change_minor(batch.kind.rule, balance_minor=balance, amount_minor=transaction.amount_minor)
        if change is None:
            refused.append(transaction.trans_id)
            day.refused += 1
            continue
        if not _INT64_MIN <= balance + change <= _INT64_MAX:
            raise _overflow(batch, transaction, balance, change)
        running[transaction.account_id] = balance + change
        day.sum_posted_minor += change
    changed = {account_id: new for account_id, new in running.items() if new != balances_minor[account_id]}
    sum_posted_minor = sum(day.sum_posted_minor for day in days.values())
    return Posting(changed, sum_posted_minor, len(batch.transactions), tuple(refused), days)


def _overflow(batch: Batch, transaction: Transaction, balance_minor: int, change: int) -> PostingOverflowError:
    return PostingOverflowError(
        batch.place,
        row=transaction.row,
        trans_id=transaction.trans_id,
        account_id=transaction.account_id,
        balance_minor=balance_minor,
        change_minor=change,
    )
