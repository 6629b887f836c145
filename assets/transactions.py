"""The bank's transactions, read from a file and checked as a whole: either all of it can be used, or none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from os import PathLike
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from assets.batch import Batch, Transaction
from assets.kinds import KINDS, Kind
from assets.transaction_checks import require_known_accounts, require_signs, require_unique_ids
from assets.transaction_columns import amounts_minor, dates, integers, kinds
from assets.transaction_file import read_columns


@dataclass(frozen=True, slots=True, eq=False)
class Transactions:
    """A checked file of transactions: `trans_id, account_id, date, kind, amount_minor`, in the file's order."""

    path: Path
    table: pa.Table

    def of(self, kind: Kind, days: Iterable[date]) -> Batch:
        """Take the transactions of one kind and of these days; a day named twice counts once."""
        wanted = pc.and_(
            pc.equal(self.table["kind"], kind.name),
            pc.is_in(self.table["date"], value_set=pa.array(list(days), pa.date32())),
        )
        rows = pa.array(range(1, len(self.table) + 1), pa.int64())
        found = self.table.append_column("row", rows).filter(wanted)
        found = found.sort_by([("date", "ascending"), ("trans_id", "ascending")])
        columns = [found[name].to_pylist() for name in ("row", "trans_id", "account_id", "date", "amount_minor")]
        return Batch(self.path, kind, tuple(Transaction(*values) for values in zip(*columns, strict=True)))

    def account_ids(self) -> tuple[int, ...]:
        """List the accounts that the file names, in order."""
        return tuple(sorted(pc.unique(self.table["account_id"]).to_pylist()))

    def require_accounts(self, known_ids: pa.ChunkedArray) -> None:
        """Refuse the whole file if it names an account that is not among `known_ids`.

        Raises:
            UnknownAccountError: naming the first such row and its account.
        """
        require_known_accounts(self.table["account_id"], self.path, known_ids)

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
    columns = read_columns(Path(path), ("trans_id", "account_id", "date", "kind", "amount"))
    table = pa.table(
        {
            "trans_id": integers(columns["trans_id"]),
            "account_id": integers(columns["account_id"]),
            "date": dates(columns["date"]),
            "kind": kinds(columns["kind"], [kind.name for kind in KINDS]),
            "amount_minor": amounts_minor(columns["amount"]),
        }
    ).combine_chunks()
    require_unique_ids(table["trans_id"], Path(path))
    require_signs(table, columns["amount"])
    return Transactions(Path(path), table)
