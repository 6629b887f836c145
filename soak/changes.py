"""What a writer makes of a task: a change computed from what it reads, through the library's own functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import EqualTo
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField

from seriatim import Append, Base, Change, Delete, NoChange, Receipt, RetryPolicy, Rewrite, Upsert, apply, pinned
from soak.task import ACCOUNTS, INTEREST_SPAN, Task

TABLE: Final = "soak.account"
SCHEMA: Final = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "bal", LongType(), required=True),
    identifier_field_ids=[1],
)
POLICY: Final = RetryPolicy(attempts_max=200, total_s_max=60.0)  # Patience: all writers want the one table.


def do(catalog: Catalog, task: Task, *, issued_at_ms: int) -> Receipt:
    """Do a task, unless it has been done before."""
    if task.kind == "pinned deposit":
        return pinned(
            catalog,
            TABLE,
            lambda table: _deposit_by_overwrite(table, task),
            operation_ids=[task.operation_id],
            issued_at_ms=issued_at_ms,
            policy=POLICY,
        )
    return apply(
        catalog,
        TABLE,
        lambda base: _change(base, task),
        operation_ids=[task.operation_id],
        issued_at_ms=issued_at_ms,
        policy=POLICY,
    )


def _change(base: Base, task: Task) -> Change:
    match task.kind:
        case "deposit":
            return _rewrite({task.account: _read(base, task.account)[task.account] + task.amount})
        case "transfer":
            return _transfer(_read(base, task.account, task.other), task)
        case "interest":
            span = range(task.account, min(task.account + INTEREST_SPAN, ACCOUNTS + 1))
            return _rewrite({id_: bal + bal // 100 for id_, bal in _read(base, *span).items() if bal > 0})
        case "open":
            is_there = bool(_read(base, task.account))
            return NoChange() if is_there else Append(_rows({task.account: task.amount}))
        case "upsert":
            found = _read(base, task.account, task.other)
            return Upsert(_rows({id_: found.get(id_, 0) + task.amount for id_ in (task.account, task.other)}), "id")
        case "close":
            return Delete(where=EqualTo("id", task.account))
    raise AssertionError(f"no kind {task.kind!r}")


def _transfer(found: Mapping[int, int], task: Task) -> Change:
    if found[task.account] < task.amount:
        return NoChange()
    return _rewrite({task.account: found[task.account] - task.amount, task.other: found[task.other] + task.amount})


def _deposit_by_overwrite(table: Table, task: Task) -> None:
    only = EqualTo("id", task.account)
    (balance,) = table.scan(row_filter=only).to_arrow()["bal"].to_pylist()
    table.overwrite(_rows({task.account: balance + task.amount}), overwrite_filter=only)


def _read(base: Base, *accounts: int) -> dict[int, int]:
    where = f"id in ({', '.join(map(str, accounts))})" if len(accounts) > 1 else f"id == {accounts[0]}"
    rows = base.read(where=where)
    return dict(zip(rows["id"].to_pylist(), rows["bal"].to_pylist(), strict=True))


def _rewrite(balances: Mapping[int, int]) -> Change:
    return Rewrite(_rows(balances), keys="id") if balances else NoChange()


def _rows(balances: Mapping[int, int]) -> pa.Table:
    columns = [pa.array(balances.keys(), pa.int64()), pa.array(balances.values(), pa.int64())]
    return pa.Table.from_arrays(columns, schema=SCHEMA.as_arrow())
