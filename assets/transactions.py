"""The bank's transactions, checked as a whole: either all that were read can be used, or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from os import PathLike
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from assets.batch import Batch, Transaction
from assets.errors import Place
from assets.kinds import KINDS, Kind
from assets.transaction_checks import require_signs, require_unique_ids
from assets.transaction_columns import amounts_minor, dates, integers, kinds
from assets.transaction_file import Column, columns_of, read_columns

COLUMNS: Final = ("trans_id", "account_id", "date", "kind", "amount")


@dataclass(frozen=True, slots=True, eq=False)
class Transactions:
    """Checked transactions: `trans_id, account_id, date, kind, amount_minor`, in the order in which they were read."""

    place: Place
    table: pa.Table

    def of(self, kind: Kind) -> Batch:
        """Take the transactions of one kind."""
        rows = pa.array(range(1, len(self.table) + 1), pa.int64())
        found = self.table.append_column("row", rows).filter(pc.equal(self.table["kind"], kind.name))
        found = found.sort_by([("date", "ascending"), ("trans_id", "ascending")])
        columns = [found[name].to_pylist() for name in ("row", "trans_id", "account_id", "date", "amount_minor")]
        return Batch(self.place, kind, tuple(Transaction(*values) for values in zip(*columns, strict=True)))

    def account_ids(self) -> tuple[int, ...]:
        """List the accounts that they name, in order."""
        return tuple(sorted(pc.unique(self.table["account_id"]).to_pylist()))

    def days(self) -> tuple[date, ...]:
        """List the days that have transactions, in order."""
        return tuple(sorted(pc.unique(self.table["date"]).to_pylist()))

    def kinds(self) -> tuple[Kind, ...]:
        """List the kinds that have transactions, in the order of `KINDS`."""
        present = set(pc.unique(self.table["kind"]).to_pylist())
        return tuple(kind for kind in KINDS if kind.name in present)


def read_transactions(path: str | PathLike[str]) -> Transactions:
    """Read and check a Parquet or CSV file; amounts become whole minor units, exactly.

    Raises:
        TransactionsError: something in the file cannot be used; the error names it, and nothing is returned.
    """
    return _checked(read_columns(Path(path), COLUMNS), Path(path))


def check_transactions(rows: pa.Table, place: str) -> Transactions:
    """Check rows that were read from a table, as those of a file are; `place` says in words which they are.

    Raises:
        TransactionsError: something in them cannot be used; the error names it, and nothing is returned.
    """
    return _checked(columns_of(rows.select(COLUMNS), place), place)


def _checked(columns: Mapping[str, Column], place: Place) -> Transactions:
    table = pa.table(
        {
            "trans_id": integers(columns["trans_id"]),
            "account_id": integers(columns["account_id"]),
            "date": dates(columns["date"]),
            "kind": kinds(columns["kind"], [kind.name for kind in KINDS]),
            "amount_minor": amounts_minor(columns["amount"]),
        }
    ).combine_chunks()
    require_unique_ids(table["trans_id"], place)
    require_signs(table, columns["amount"])
    return Transactions(place, table)
