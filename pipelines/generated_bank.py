"""A bank made up from a seed, for whoever has no transactions at hand: small, plausible, and sensitive to order."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from os import PathLike
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

_SCHEMA = pa.schema(
    [
        pa.field("trans_id", pa.int64(), nullable=False),
        pa.field("account_id", pa.int64(), nullable=False),
        pa.field("date", pa.date32(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("amount", pa.decimal128(12, 2), nullable=False),
    ]
)
_OPENING_DAYS = 3
_RATES_HUNDREDTHS = (5, 10, 25, 40)  # 0.05 % to 0.40 % a month


@dataclass(frozen=True, slots=True)
class _Habit:
    """How often a kind occurs among the everyday transactions, and between which amounts (minor units)."""

    kind: str
    weight: int
    lowest_minor: int
    highest_minor: int
    step_minor: int


_HABITS = (
    _Habit("cash_deposit", 20, 20_000, 2_500_000, 10_000),
    _Habit("pension", 4, 402_600, 698_700, 100),
    _Habit("transfer_in", 5, 290_000, 2_500_000, 100),
    _Habit("cash_withdrawal", 23, -600_000, -10_000, 10_000),
    _Habit("interest", 3, 50, 45_000, 10),
    _Habit("household", 12, -500_000, -20_000, 100),
    _Habit("statement_fee", 8, -3_000, -1_460, 1_540),
    _Habit("transfer_out", 6, -400_000, -5_000, 100),
    _Habit("insurance", 3, -240_000, -10_000, 100),
    _Habit("penalty_interest", 1, -2_500, -20, 10),
    _Habit("loan", 3, -640_000, -60_000, 10),
    _Habit("standing_order", 12, -2_000_000, -40_000, 100),
)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A transaction that has no id yet."""

    day: date
    account_id: int
    kind: str
    amount_minor: int


def generate_bank(
    seed: int, first_day: date, *, days: int = 59, accounts: int = 120, transactions: int = 3_000
) -> pa.Table:
    """Make a bank of exactly that many transactions, in order of day and id; the same arguments, the same bank.

    Every account gets its opening deposit in the first days, and at each month's end (the last day counts as one)
    interest and a fee that are computed from its balance. All 14 kinds occur.

    Raises:
        ValueError: there is no room for all this: fewer than 1 day or account, or too few transactions.
    """
    if days < 1 or accounts < 1:
        raise ValueError(f"a bank needs at least 1 day and 1 account, got days={days} and accounts={accounts}")
    rng = Random(seed)
    calendar = [first_day + timedelta(days=offset) for offset in range(days)]
    entries = [*_openings(rng, calendar, accounts), *_month_ends(rng, calendar, accounts)]
    transactions_min = len(entries) + len(_HABITS)
    if transactions < transactions_min:
        raise ValueError(
            f"{accounts} accounts over {days} days need at least {transactions_min} transactions, got {transactions}; "
            f"allow more transactions or fewer accounts"
        )
    entries.extend(_everyday(rng, calendar, accounts, count=transactions - len(entries)))
    entries.sort(key=lambda entry: entry.day)  # Stable: within a day, in the order in which they were made up.
    return _to_table(entries)


def write_bank(path: str | PathLike[str], table: pa.Table) -> None:
    """Write the bank as Parquet or CSV, by the name's ending; a reader sees the whole file or none of it.

    Raises:
        ValueError: the name ends in neither.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in (".parquet", ".csv"):
        raise ValueError(f"{target}: the name must end in .parquet or .csv")
    # A folder beside the target is on the same file system, so that the move is one step; it also cleans up.
    with TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as folder:
        written = Path(folder) / target.name
        if suffix == ".parquet":
            pq.write_table(table, written)
        else:
            _write_csv(written, table)
        written.replace(target)


def _write_csv(path: Path, table: pa.Table) -> None:
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(table.column_names)
        writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _openings(rng: Random, calendar: Sequence[date], accounts: int) -> Iterator[_Entry]:
    for account_id in range(1, accounts + 1):
        day = calendar[_below(rng, min(_OPENING_DAYS, len(calendar)))]
        yield _Entry(day, account_id, "cash_deposit", _between(rng, 50_000, 1_000_000, 10_000))


def _month_ends(rng: Random, calendar: Sequence[date], accounts: int) -> Iterator[_Entry]:
    for day in calendar:
        if day != calendar[-1] and (day + timedelta(days=1)).day != 1:
            continue
        for account_id in range(1, accounts + 1):
            rate = _RATES_HUNDREDTHS[_below(rng, len(_RATES_HUNDREDTHS))]
            yield _Entry(day, account_id, "percentage_interest", rate)
            yield _Entry(day, account_id, "balance_fee", _between(rng, -15_000, -2_000, 500))


def _everyday(rng: Random, calendar: Sequence[date], accounts: int, *, count: int) -> Iterator[_Entry]:
    lots = [habit for habit in _HABITS for _ in range(habit.weight)]
    for number in range(count):
        # Each kind once before chance decides, so that none is missing from a small bank.
        habit = _HABITS[number] if number < len(_HABITS) else lots[_below(rng, len(lots))]
        amount_minor = _between(rng, habit.lowest_minor, habit.highest_minor, habit.step_minor)
        yield _Entry(calendar[_below(rng, len(calendar))], 1 + _below(rng, accounts), habit.kind, amount_minor)


def _to_table(entries: Sequence[_Entry]) -> pa.Table:
    columns = [
        list(range(1, len(entries) + 1)),
        [entry.account_id for entry in entries],
        [entry.day for entry in entries],
        [entry.kind for entry in entries],
        [Decimal(entry.amount_minor).scaleb(-2) for entry in entries],
    ]
    return pa.table(columns, schema=_SCHEMA)


def _between(rng: Random, lowest: int, highest: int, step: int) -> int:
    return lowest + step * _below(rng, (highest - lowest) // step + 1)


def _below(rng: Random, count: int) -> int:
    # random() gives the same numbers on every Python; the other methods of Random make no such promise.
    return int(rng.random() * count)
