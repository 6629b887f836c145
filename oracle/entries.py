"""The bank's transactions as the oracle reads them: from the file they come from, and from the Delta table.

Both readers are its own: Parquet by PyArrow, everything else (CSV, Delta's log) as the text that it is.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq

from oracle.errors import OracleError

_CENT = Decimal("0.01")
_COLUMNS = ["trans_id", "account_id", "date", "kind", "amount"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One transaction; the amount is in the major unit."""

    trans_id: int
    account_id: int
    day: date
    kind: str
    amount: Decimal


Arrivals = Mapping[int, Sequence[Entry]]
"""What arrived with each version of the Delta table."""


def read_file(path: str | Path) -> tuple[Entry, ...]:
    """Read a Parquet or CSV file.

    Raises:
        OracleError: an amount is no whole number of cents.
    """
    return tuple(_entries(Path(path)))


def read_delta(root: str | Path) -> dict[int, tuple[Entry, ...]]:
    """Read what each version of a local Delta table of plain appends has added, from its log.

    Raises:
        OracleError: a version took something away, or the log is not whole.
    """
    log = sorted((Path(root) / "_delta_log").glob("*.json"))
    arrivals: dict[int, tuple[Entry, ...]] = {}
    for version, commit in enumerate(log):
        if int(commit.stem) != version:
            raise OracleError(f"{root}: version {version} is not in the log")
        actions = [json.loads(line) for line in commit.read_text(encoding="utf-8").splitlines()]
        if any("remove" in action for action in actions):
            raise OracleError(f"{root}: version {version} takes something away")
        files = [Path(root) / unquote(action["add"]["path"]) for action in actions if "add" in action]
        arrivals[version] = tuple(entry for file in files for entry in _entries(file))
    return arrivals


def lost_on_the_way(sent: Sequence[Entry], arrivals: Arrivals) -> tuple[int, ...]:
    """List the ids of the transactions that did not arrive once and as they were sent."""
    here, there = Counter(sent), Counter(entry for entries in arrivals.values() for entry in entries)
    return tuple(sorted({entry.trans_id for entry in (here - there) + (there - here)}))


def _entries(path: Path) -> Iterator[Entry]:
    if path.suffix.lower() == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as lines:
            yield from map(_entry, csv.DictReader(lines))
    else:
        with pq.ParquetFile(path) as file:
            yield from map(_entry, file.read(columns=_COLUMNS).to_pylist())


def _entry(row: dict[str, object]) -> Entry:
    amount = Decimal(str(row["amount"]))  # A float prints as the shortest decimal that it stands for.
    if amount != amount.quantize(_CENT):
        raise OracleError(f"transaction {row['trans_id']}: {amount} is not a whole number of cents")
    trans_id, account_id = int(str(row["trans_id"])), int(str(row["account_id"]))
    return Entry(trans_id, account_id, _day(row["date"]), str(row["kind"]), amount)


def _day(value: object) -> date:
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else date.fromisoformat(str(value)[:10])
