"""A file of transactions as if each of its days had been a version of a Delta table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from assets.batch import Batch
from assets.kinds import Kind
from assets.transactions import Transactions
from oracle.bank import Operation
from oracle.entries import Entry, read_file


def by_day(path: str | Path) -> dict[int, tuple[Entry, ...]]:
    """Return what arrived, by the ordinal of the day."""
    arrivals: dict[int, list[Entry]] = defaultdict(list)
    for entry in read_file(path):
        arrivals[entry.day.toordinal()].append(entry)
    return {day: tuple(entries) for day, entries in sorted(arrivals.items())}


def of_day(kind: str, day: date) -> Operation:
    """Return the posting of a kind and a day."""
    return Operation(kind, day.toordinal() - 1, day.toordinal())


def batch_of(transactions: Transactions, kind: Kind, days: Iterable[date]) -> Batch:
    """Take the transactions of one kind and of some days."""
    wanted = pc.is_in(transactions.table["date"], value_set=pa.array(list(days), pa.date32()))
    return replace(transactions, table=transactions.table.filter(wanted)).of(kind)
