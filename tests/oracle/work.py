"""The operations that `serial.py` names, as changes of a table: computed from what they read, and from nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
from pyiceberg.expressions import In

from seriatim.commit import Append, Base, Change, Delete, NoChange, Rewrite, Upsert
from tests.oracle.serial import RefusedError

Row = Mapping[str, Any]


def _nothing() -> None:
    """Go on."""


class Work:
    """One operation, as a change; `has_read` is called when it has read and computed nothing yet."""

    def __init__(self, operation: str, has_read: Callable[[], None] = _nothing) -> None:
        what, *rest = operation.split("|")
        self._operation, self._numbers = operation, [int(each) for each in rest[:-1]]
        self._compute, self._has_read = _COMPUTE[what], has_read

    def __call__(self, base: Base) -> Change:
        return self._compute(self, base)

    def accounts(self, base: Base, *accounts: int) -> dict[int, Row]:
        """Read these accounts (none: all), with every column that the table has."""
        rows = base.read(where=In("id", accounts) if accounts else None).to_pylist()
        self._has_read()
        by_id = {row["id"]: row for row in rows}
        assert len(by_id) == len(rows), f"accounts are there twice: {rows}"
        return by_id

    def open(self, base: Base) -> Change:
        account, balance = self._numbers
        return NoChange() if self.accounts(base, account) else Append(_rows(base, {"id": account, "bal": balance}))

    def put(self, base: Base) -> Change:
        account, balance = self._numbers
        self._has_read()  # It depends on the account all the same: an upsert reads its keys.
        return Upsert(_rows(base, {"id": account, "bal": balance}), keys="id")

    def deposit(self, base: Base) -> Change:
        account, amount = self._numbers
        found = self.accounts(base, account)
        return _moved(base, found, {account: amount}) if found else NoChange()

    def withdraw(self, base: Base) -> Change:
        account, amount = self._numbers
        found = self.accounts(base, account)
        if not found or found[account]["bal"] < amount:
            raise RefusedError(self._operation)
        return _moved(base, found, {account: -amount})

    def transfer(self, base: Base) -> Change:
        source, target, amount = self._numbers
        found = self.accounts(base, source, target)
        if len(found) < 2 or found[source]["bal"] < amount:
            return NoChange()
        return _moved(base, found, {source: -amount, target: amount})

    def interest(self, base: Base) -> Change:
        (percent,) = self._numbers
        found = self.accounts(base)
        paid = {one: row["bal"] * percent // 100 for one, row in found.items() if row["bal"] > 0}
        return _moved(base, {one: found[one] for one in paid}, paid) if paid else NoChange()

    def close(self, base: Base) -> Change:
        (account,) = self._numbers
        self._has_read()  # As above: a delete reads what it selects.
        return Delete(where=f"id == {account}")


_COMPUTE: Final[dict[str, Callable[[Work, Base], Change]]] = {
    "open": Work.open,
    "put": Work.put,
    "deposit": Work.deposit,
    "withdraw": Work.withdraw,
    "transfer": Work.transfer,
    "interest": Work.interest,
    "close": Work.close,
}


def invent(rng: random.Random, accounts: int, name: str) -> str:
    """Return the name of an operation on a few accounts."""
    account, other = rng.sample(range(1, accounts + 1), 2)
    amount = rng.randrange(1, 400)
    some = [
        *(f"deposit|{account}|{amount}|{name}", f"withdraw|{account}|{amount}|{name}"),
        *(f"transfer|{account}|{other}|{amount}|{name}", f"transfer|{other}|{account}|{amount}|{name}"),
        *(f"open|{account}|{amount}|{name}", f"put|{account}|{amount}|{name}"),
        *(f"interest|{amount % 9 + 1}|{name}", f"close|{account}|{name}"),
    ]
    return rng.choice(some)


def _moved(base: Base, rows: Mapping[int, Row], amounts: Mapping[int, int]) -> Rewrite:
    return Rewrite(_rows(base, *({**rows[one], "bal": rows[one]["bal"] + by} for one, by in amounts.items())), "id")


def _rows(base: Base, *rows: Row) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=base.schema.as_arrow())
