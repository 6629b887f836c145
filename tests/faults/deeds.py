"""The ways to change a table, as calls of one form, for tests in which something goes wrong meanwhile."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from seriatim.commit import Append, Base, Change, Delete, Receipt, RetryPolicy, Rewrite, Upsert, apply, pinned
from solution import commit_with_retry
from tests.faults.bank import Bank
from tests.faults.clock import ManualClock

Meanwhile = Callable[[], None]
Balances = Mapping[int, int]


def nothing() -> None:
    """Let nothing happen meanwhile."""


@dataclass(frozen=True, slots=True)
class Deed:
    """A change of the bank's table: how it is done, and what it makes of balances that have account 1.

    `run(catalog, operation_ids, attempts_max, meanwhile)` does it; `meanwhile` happens in each attempt in which it is
    computed, after what was read and before anything is written.
    """

    run: Callable[[Catalog, tuple[str, ...], int, Meanwhile], Receipt | int]
    after: Callable[[Balances], Balances]
    has_operation_ids: bool = True


def rows(schema: Schema, balances: Balances) -> pa.Table:
    """Return the rows of these accounts."""
    pairs = [{"id": account_id, "bal": balance} for account_id, balance in balances.items()]
    return pa.Table.from_pylist(pairs, schema=schema.as_arrow())


def _applied(compute: Callable[[Base], Change], after: Callable[[Balances], Balances]) -> Deed:
    def run(catalog: Catalog, operation_ids: tuple[str, ...], attempts_max: int, meanwhile: Meanwhile) -> Receipt | int:
        def change(base: Base) -> Change:
            computed = compute(base)
            meanwhile()
            return computed

        return apply(catalog, Bank.identifier, change, operation_ids=operation_ids, **_settings(attempts_max))

    return Deed(run, after)


def _pinned(
    read: Callable[[Table], Any], write: Callable[[Table, Any], None], after: Callable[[Balances], Balances]
) -> Deed:
    def run(catalog: Catalog, operation_ids: tuple[str, ...], attempts_max: int, meanwhile: Meanwhile) -> Receipt | int:
        def fn(table: Table) -> None:
            seen = read(table)
            meanwhile()
            write(table, seen)

        return pinned(catalog, Bank.identifier, fn, operation_ids=operation_ids, **_settings(attempts_max))

    return Deed(run, after)


def _settings(attempts_max: int) -> dict[str, Any]:
    return {"clock": ManualClock(), "chance": random.Random(1), "policy": RetryPolicy(attempts_max=attempts_max)}


def _account_function(
    catalog: Catalog, operation_ids: tuple[str, ...], attempts_max: int, meanwhile: Meanwhile
) -> Receipt | int:
    assert operation_ids == ()
    return commit_with_retry(
        catalog, Bank.identifier, partial(operator.add, 7), attempts_max, lambda attempt: meanwhile()
    )


def _deposit(base: Base) -> Change:
    (balance,) = base.read(where="id == 1")["bal"].to_pylist()
    return Rewrite(rows(base.schema, {1: balance + 7}), keys="id")


def _sweep(base: Base) -> Change:
    """Read every row and write every row."""
    seen = base.read()
    changed = [{**row, "bal": row["bal"] + 7} for row in seen.to_pylist()]
    return Rewrite(pa.Table.from_pylist(changed, schema=seen.schema), where=AlwaysTrue())


def _upsert(base: Base) -> Change:
    (balance,) = base.read(where="id == 1")["bal"].to_pylist()
    return Upsert(rows(base.schema, {1: balance + 7, 9: 7}), keys="id")


def _balance_of_1(table: Table) -> int:
    (balance,) = table.scan(row_filter="id == 1").to_arrow()["bal"].to_pylist()
    return int(balance)


def _overwrite(table: Table, balance: int) -> None:
    table.overwrite(rows(table.schema(), {1: balance + 7}), "id == 1")


def _one_more(balances: Balances) -> Balances:
    return {**balances, 9: 7}


def _deposited(balances: Balances) -> Balances:
    return {**balances, 1: balances[1] + 7}


DEEDS: Final[dict[str, Deed]] = {
    "append": _applied(lambda base: Append(rows(base.schema, {9: 7})), _one_more),
    "rewrite": _applied(_deposit, _deposited),
    "insert": _applied(lambda base: Rewrite(rows(base.schema, {9: 7}), where="id == 9"), _one_more),
    "delete": _applied(
        lambda base: Delete(where="id == 1"), lambda balances: {key: balances[key] for key in balances if key != 1}
    ),
    "upsert": _applied(_upsert, lambda balances: _one_more(_deposited(balances))),
    "whole table": _applied(_sweep, lambda balances: {key: balances[key] + 7 for key in balances}),
    "pinned append": _pinned(
        lambda table: None, lambda table, seen: table.append(rows(table.schema(), {9: 7})), _one_more
    ),
    "pinned overwrite": _pinned(_balance_of_1, _overwrite, _deposited),
    "account function": Deed(_account_function, _deposited, has_operation_ids=False),
}
