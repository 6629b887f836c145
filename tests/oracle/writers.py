"""Writers that carry out operations by their names (see `oracle/accounts.py`), through `apply`."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import In

from seriatim.commit import Base, NoChange, RetryPolicy, Rewrite, apply

PATIENT = RetryPolicy(attempts_max=200, total_s_max=300.0)


def make_operations(rng: random.Random, accounts: int, count: int, writer: int) -> list[str]:
    """Return names of operations that touch one account, two, or all of them."""
    return [_make_operation(rng, accounts, f"{writer}.{number}") for number in range(count)]


def carry_out(catalog: Catalog, identifier: str, operations: Sequence[str]) -> None:
    """Apply each operation once."""
    for operation in operations:
        apply(catalog, identifier, _Change(operation), operation_ids=[operation], policy=PATIENT)


def carry_out_in_a_process(properties: dict[str, str], identifier: str, operations: Sequence[str]) -> None:
    """Do so from a process that shares nothing with the others but the database."""
    carry_out(SqlCatalog("bank", **properties), identifier, operations)


class _Change:
    """What an operation's name says, computed from a base."""

    def __init__(self, operation: str) -> None:
        self._words = operation.split("|")

    def __call__(self, base: Base) -> Rewrite | NoChange:
        what, *values = self._words
        if what == "interest":
            balances = _read(base)
            return _rewrite(base, {key: bal + bal * int(values[0]) // 100 for key, bal in balances.items() if bal > 0})
        if what == "deposit":
            account, amount = int(values[0]), int(values[1])
            return _rewrite(base, {account: _read(base, account)[account] + amount})
        source, target, amount = int(values[0]), int(values[1]), int(values[2])
        balances = _read(base, source, target)
        if balances[source] < amount:
            return NoChange()
        balances[source] -= amount
        balances[target] += amount
        return _rewrite(base, balances)


def _read(base: Base, *accounts: int) -> dict[int, int]:
    rows = base.read(where=In("id", accounts) if accounts else None)
    return dict(zip(rows["id"].to_pylist(), rows["bal"].to_pylist(), strict=True))


def _rewrite(base: Base, balances: dict[int, int]) -> Rewrite:
    rows = [{"id": account, "bal": balance} for account, balance in balances.items()]
    return Rewrite(pa.Table.from_pylist(rows, schema=base.schema.as_arrow()), keys="id")


def _make_operation(rng: random.Random, accounts: int, name: str) -> str:
    account, other = rng.sample(range(1, accounts + 1), 2)
    amount = rng.randrange(1, 400)
    return rng.choice(
        [f"deposit|{account}|{amount}|{name}", f"transfer|{account}|{other}|{amount}|{name}", f"interest|3|{name}"]
    )
