"""The bank, one operation after another: what the balances are if nothing ever overlapped.

Amounts are decimals of the major unit, as they stand in the file, and every kind is written out by name. Slow and plain
on purpose: it shares no code and no arithmetic with what it judges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, localcontext

from oracle.entries import Arrivals, Entry
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
    """One job's posting of what arrived after one version of the Delta table, up to and with another."""

    kind: str
    after: int  # -1: from the first version on
    upto: int

    def has(self, version: int) -> bool:
        """Say whether the version is among those that it posts."""
        return self.after < version <= self.upto


@dataclass(frozen=True, slots=True, order=True)
class Unposted:
    """Transactions of one kind, of one version, that no operation has posted."""

    kind: str
    version: int


def replay(arrivals: Arrivals, operations: Iterable[Operation]) -> dict[int, int]:
    """Work out every account's balance in cents, from 0, by the operations in the order given.

    An operation posts by day, then by id; one without transactions changes nothing. Accounts are all those that a
    transaction names.

    Raises:
        DoubleApplyError: a version is posted twice by the operations of a kind.
        OracleError: an operation's kind is not one of the bank's.
    """
    balances = {entry.account_id: _NOTHING for entries in arrivals.values() for entry in entries}
    postings: dict[tuple[str, int], list[Entry]] = defaultdict(list)
    for version, entries in arrivals.items():
        for entry in entries:
            postings[entry.kind, version].append(entry)
    applied: list[Operation] = []
    with localcontext(Context(prec=60)):
        for operation in operations:
            _require_first(operation, applied)
            applied.append(operation)
            versions = filter(operation.has, arrivals)
            batch = [entry for version in versions for entry in postings[operation.kind, version]]
            for entry in sorted(batch, key=lambda one: (one.day, one.trans_id)):
                balances[entry.account_id] += _posted(entry, balances[entry.account_id])
        return {account_id: int(balance / _CENT) for account_id, balance in sorted(balances.items())}


def missing(arrivals: Arrivals, operations: Iterable[Operation]) -> tuple[Unposted, ...]:
    """List what has arrived and is not among the operations, by kind and version."""
    landed = list(operations)
    return tuple(
        Unposted(kind, version)
        for kind, version in sorted({(entry.kind, version) for version, each in arrivals.items() for entry in each})
        if not any(operation.kind == kind and operation.has(version) for operation in landed)
    )


def _require_first(operation: Operation, applied: Iterable[Operation]) -> None:
    if operation.kind not in _KINDS:
        raise OracleError(f"{operation}: there is no kind {operation.kind!r}")
    for earlier in applied:
        if earlier.kind == operation.kind and earlier.after < operation.upto and operation.after < earlier.upto:
            raise DoubleApplyError(
                f"what {operation} has in common with {earlier}", where="in the operations to replay"
            )


def _posted(entry: Entry, balance: Decimal) -> Decimal:
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
