"""The bank, one operation after another: what the balances are if nothing ever overlapped.

Amounts are decimals of the major unit, as they stand in the file, and every kind is written out by name. Slow and plain
on purpose: it shares no code and no arithmetic with what it judges.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from pathlib import Path

import pyarrow.parquet as pq

from oracle.errors import DoubleApplyError, OracleError

_CENT = Decimal("0.01")
_NOTHING = Decimal("0.00")
_AS_RECORDED = frozenset(
    (
        *("cash_deposit", "pension", "transfer_in", "cash_withdrawal", "interest", "household"),
        *("statement_fee", "transfer_out", "insurance", "penalty_interest", "loan"),
    )
)
_KINDS = _AS_RECORDED | {"standing_order", "percentage_interest", "balance_fee"}


@dataclass(frozen=True, slots=True, order=True)
class Operation:
    """One job's posting of one business day, as one logical change."""

    kind: str
    day: date
    forced_by: str = ""  # The run that was told to post the day once more; empty: the day's one ordinary posting.


@dataclass(frozen=True, slots=True)
class _Entry:
    trans_id: int
    account_id: int
    day: date
    kind: str
    amount: Decimal


def replay(transactions_file: str | Path, operations: Iterable[Operation]) -> dict[int, int]:
    """Work out every account's balance in cents, from 0, by the operations in the order given.

    An operation without transactions changes nothing. Accounts are all those that the file names.

    Raises:
        DoubleApplyError: an operation is given twice.
        OracleError: an operation's kind is not one of the bank's.
    """
    balances: dict[int, Decimal] = {}
    postings: dict[tuple[str, date], list[_Entry]] = defaultdict(list)
    for entry in _entries(Path(transactions_file)):
        balances[entry.account_id] = _NOTHING
        postings[entry.kind, entry.day].append(entry)
    applied: set[Operation] = set()
    with localcontext(Context(prec=60)):
        for operation in operations:
            if operation.kind not in _KINDS:
                raise OracleError(f"{operation}: there is no kind {operation.kind!r}")
            if operation in applied:
                raise DoubleApplyError(str(operation), where="in the operations to replay")
            applied.add(operation)
            for entry in sorted(postings.get((operation.kind, operation.day), ()), key=lambda one: one.trans_id):
                balances[entry.account_id] += _posted(entry, balances[entry.account_id])
        return {account_id: int(balance / _CENT) for account_id, balance in sorted(balances.items())}


def missing(transactions_file: str | Path, operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """List what has transactions in the file and is not among the operations, by kind and day."""
    landed = {(operation.kind, operation.day) for operation in operations}
    wanted = {(entry.kind, entry.day) for entry in _entries(Path(transactions_file))}
    return tuple(Operation(kind, day) for kind, day in sorted(wanted - landed))


def _posted(entry: _Entry, balance: Decimal) -> Decimal:
    if entry.kind in _AS_RECORDED:
        return entry.amount
    if entry.kind == "standing_order":
        would_overdraw = balance + entry.amount < 0
        return _NOTHING if would_overdraw else entry.amount
    if balance <= 0:
        return _NOTHING  # Neither interest nor fee on an empty or overdrawn account.
    if entry.kind == "percentage_interest":
        return (balance * entry.amount / Decimal(100)).quantize(_CENT, rounding=ROUND_FLOOR)
    if entry.kind == "balance_fee":
        one_percent = (balance / Decimal(100)).quantize(_CENT, rounding=ROUND_FLOOR)
        return -min(abs(entry.amount), one_percent)
    raise OracleError(f"transaction {entry.trans_id}: there is no kind {entry.kind!r}")


def _entries(path: Path) -> Iterator[_Entry]:
    if path.suffix.lower() == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as lines:
            yield from map(_entry, csv.DictReader(lines))
    else:
        with pq.ParquetFile(path) as file:
            wanted = ["trans_id", "account_id", "date", "kind", "amount"]
            yield from map(_entry, file.read(columns=wanted).to_pylist())


def _entry(row: dict[str, object]) -> _Entry:
    amount = Decimal(str(row["amount"]))  # A float prints as the shortest decimal that it stands for.
    if amount != amount.quantize(_CENT):
        raise OracleError(f"transaction {row['trans_id']}: {amount} is not a whole number of cents")
    trans_id, account_id = int(str(row["trans_id"])), int(str(row["account_id"]))
    return _Entry(trans_id, account_id, _day(row["date"]), str(row["kind"]), amount)


def _day(value: object) -> date:
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else date.fromisoformat(str(value)[:10])
