"""The balances that a bank's own file records: a cross-check of ours, never what they must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from os import PathLike
from pathlib import Path

from assets.transaction_columns import amounts_minor, dates, integers
from assets.transaction_file import column_names, read_columns

_COLUMN = "recorded_balance"


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A transaction, and the balance that the bank recorded after it."""

    trans_id: int
    account_id: int
    day: date
    amount_minor: int
    balance_minor: int


def read_recorded_balances(path: str | PathLike[str]) -> Mapping[int, int] | None:
    """Read the balance, in minor units, that the bank recorded for each account at the end of its last day.

    None: the file has no column `recorded_balance`. A bank may post the transactions of a day in an order of its own,
    which neither the ids nor the rows of the file need to follow. The last one of a day is therefore found by the
    balances themselves: it is the one that no other continues from.

    Raises:
        TransactionsError: something in these columns of the file cannot be used.
    """
    if _COLUMN not in column_names(Path(path)):
        return None
    last_days: dict[int, list[_Recorded]] = {}
    for recorded in _read(Path(path)):
        last_day = last_days.setdefault(recorded.account_id, [])
        if last_day and recorded.day > last_day[0].day:
            last_day.clear()
        if not last_day or recorded.day == last_day[0].day:
            last_day.append(recorded)
    return {account_id: _closing(last_day).balance_minor for account_id, last_day in sorted(last_days.items())}


def _read(path: Path) -> list[_Recorded]:
    columns = read_columns(path, ("trans_id", "account_id", "date", "amount", _COLUMN))
    checked = (
        integers(columns["trans_id"]),
        integers(columns["account_id"]),
        dates(columns["date"]),
        amounts_minor(columns["amount"]),
        amounts_minor(columns[_COLUMN]),
    )
    return [_Recorded(*values) for values in zip(*(column.to_pylist() for column in checked), strict=True)]


def _closing(last_day: Sequence[_Recorded]) -> _Recorded:
    """Find the transaction whose balance is farthest from where any other starts; of several, that of the highest id.

    The nearest start would be equal to it, were it not for banks that round: so distances are compared.
    """

    def distance_to_next(one: _Recorded) -> int:
        starts = (other.balance_minor - other.amount_minor for other in last_day if other is not one)
        return min((abs(start - one.balance_minor) for start in starts), default=0)

    return max(last_day, key=lambda one: (distance_to_next(one), one.trans_id))
