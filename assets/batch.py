"""Batches: the transactions that one job posts in one go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from assets.errors import Place
from assets.kinds import Kind


@dataclass(frozen=True, slots=True)
class Transaction:
    """One transaction of a batch, and the data row it stands in (from 1)."""

    row: int
    trans_id: int
    account_id: int
    day: date
    amount_minor: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Transactions of one kind, of one or several days, in the order in which they post: by day, then by id."""

    place: Place
    kind: Kind
    transactions: tuple[Transaction, ...]

    def account_ids(self) -> tuple[int, ...]:
        """List the accounts that the batch touches, in order."""
        return tuple(sorted({transaction.account_id for transaction in self.transactions}))
