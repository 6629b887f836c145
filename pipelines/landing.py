"""The upstream job of the bank: lands transactions in a Delta table, some days at a time, some of them late."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import write_deltalake

from assets.transactions import Transactions

_LATE_SHARE: Final = 0.03
_LATE_BY_MAX: Final = 3  # appends
_DAYS_BY_DAY: Final = 14  # A bank of so few days arrives day by day, others week by week.
_CENTS: Final = pa.decimal128(19, 2)  # the whole of 64 bits


def arrivals(transactions: Transactions, *, seed: int) -> list[pa.Table]:
    """Return what each append brings: some days each, of which a few rows come some appends later.

    The rows are `trans_id, account_id, date, kind, amount`, in an order of their own. The same arguments give the same
    arrivals; every transaction is in one of them.
    """
    rng, days = Random(seed), transactions.days()
    by_day = len(days) <= _DAYS_BY_DAY
    numbers = {day: number for number, day in enumerate(days)} if by_day else {day: _week(day, days[0]) for day in days}
    rows: dict[int, list[int]] = defaultdict(list)
    for row, day in enumerate(transactions.table["date"].to_pylist()):
        late = 1 + int(rng.random() * _LATE_BY_MAX) if rng.random() < _LATE_SHARE else 0
        rows[numbers[day] + late].append(row)
    table = _as_landed(transactions.table)
    return [table.take(rows[number]) for number in sorted(rows)]


def append(rows: pa.Table, uri: str) -> None:
    """Append rows to the Delta table, which is made by the first."""
    write_deltalake(uri, rows, mode="append", name="bank_transactions")


def land(parts: Sequence[pa.Table], folder: Path) -> None:
    """Make a Delta table of these appends at `folder`, in one step: somebody else may make the same one at once."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    # A folder beside the target is on the same file system, so that the move is one step; it also cleans up.
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as place:
        landed = Path(place) / folder.name
        for rows in parts:
            append(rows, str(landed))
        try:
            landed.rename(folder)
        except OSError:
            if not folder.exists():
                raise
            shutil.rmtree(landed)  # It was made meanwhile.


def _as_landed(checked: pa.Table) -> pa.Table:
    amounts = pc.multiply(checked["amount_minor"].cast(pa.decimal128(19, 0)), pa.scalar(Decimal("0.01")))
    return checked.drop_columns(["amount_minor"]).append_column("amount", amounts.cast(_CENTS))


def _week(day: date, first: date) -> int:
    return (day - first).days // 7
