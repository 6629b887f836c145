"""The exercise's two functions: one account's balance, changed by refresh-and-reapply.

The promise: calls that overlap, in any number of threads and processes, leave the balance that they would have left one
after another. No update is lost, none is applied twice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.typedef import Identifier

from seriatim.commit import mirrors, summary
from seriatim.commit.attempts import Attempts
from seriatim.commit.base import Base
from seriatim.commit.base_files import BaseFiles
from seriatim.commit.change import Rewrite
from seriatim.commit.edits import steps_of
from seriatim.commit.landing import Landing
from seriatim.commit.ledger import Ledger
from seriatim.commit.ledger_names import Names
from seriatim.commit.ledger_policy import LedgerPolicy
from seriatim.commit.retention import RetentionPolicy
from seriatim.commit.staging import Stage
from seriatim.commit.submission import submit
from seriatim.commit.turnstile.chosen import default_turnstile
from seriatim.commit.turnstile.lines import line_of
from seriatim.commit.turnstile.port import NO_TURNSTILE
from seriatim.commit.turnstile.turns import Turns
from seriatim.commit.writer import Writer
from seriatim.errors import BalanceError, DuplicateKeyError, RowNotFoundError
from seriatim.system import SystemClock

_ID, _BALANCE, _ACCOUNT = "id", "bal", 1
_WHERE = EqualTo(_ID, _ACCOUNT)
_METHODS = (Table.scan, Table.overwrite)


def commit_with_retry(
    catalog: Catalog,
    identifier: str | Identifier,
    mutate: Callable[[int], int],
    max_retries: int = 5,
    before_commit: Callable[[int], None] | None = None,
) -> int:
    """Replace the balance of the row with id 1 by `mutate(balance)`, exactly once, and return what was committed.

    Each of up to `max_retries` attempts loads the table anew, reads the balance, calls `mutate`, then
    `before_commit(attempt)` (counted from 0), and commits on the very snapshot it read. Other rows and the row's other
    columns keep their values. What `mutate` or `before_commit` raise comes out as it is; that attempt writes nothing
    then (an earlier one whose reply was lost may land yet).

    Raises:
        ConflictError: the table moved under every attempt; nothing was written. A `CommitFailedException`.
        OutcomeUnknownError: the commit may have landed, and the table does not tell. A `CommitStateUnknownException`.
        RowNotFoundError, DuplicateKeyError: there is no row with id 1, or more than one.
        BalanceError: there is no balance, or it is null, or `mutate` returned no int that the column can hold.
        InvalidChangeError: the table is the mirror of a Delta table; nothing was written.
        LedgerUnreadableError: the table's ledger, which each commit carries on, is damaged; nothing was written.
        ValueError: `max_retries` is less than 1.
    """
    if max_retries < 1:
        raise ValueError(f"max_retries must be at least 1, not {max_retries}")
    attempts: Attempts[int] = Attempts(catalog, identifier)
    # A hook may wait for the very writer that would wait for this one's turn to end.
    turnstile = default_turnstile() if before_commit is None else NO_TURNSTILE
    turns = Turns(turnstile, line_of(catalog, identifier), turnstile.wait_s_max, SystemClock())
    for attempt in range(max_retries):
        with turns.turn():
            table = attempts.load()
            if attempts.landed:
                return attempts.landed.result
            with attempts.shield():
                if attempts.pin is not None:
                    mirrors.require_none(attempts.name, table.metadata, MAIN_BRANCH)
                files = _files(table)
                row = _row(table, attempts.name, files)
            balance = _balance(row, attempts.name)
            new = mutate(balance)
            changed = _with_balance(row, new, attempts.name)
            if before_commit is not None:
                before_commit(attempt)
            with attempts.shield():
                has_landed = _submit(attempts, table, files, changed, balance, new)
        if has_landed:
            return new
    if attempts.is_open:
        attempts.load()
        if attempts.landed:
            return attempts.landed.result
    raise attempts.verdict()


def read_balance(table: Table) -> int:
    """Return the balance of the row with id 1 in a table that is already loaded.

    Raises:
        RowNotFoundError, DuplicateKeyError: there is no such row, or more than one.
        BalanceError: the balance is null.
    """
    name = _name(table)
    return _balance(_row(table, name, _files(table)), name)


def _name(table: object) -> str:
    return ".".join(table.name()) if isinstance(table, Table) else "the table"


def _files(table: Table) -> BaseFiles | None:
    """Return the files of the table; None: it is a double, or one that somebody has prepared.

    What is to happen with such a one is what its own `scan` and `overwrite` do.
    """
    is_itself = isinstance(table, Table) and (type(table).scan, type(table).overwrite) == _METHODS
    return BaseFiles(table) if is_itself else None


def _submit(
    attempts: Attempts[int], table: Table, files: BaseFiles | None, row: pa.Table, balance: int, new: int
) -> bool:
    """Overwrite the row, as one snapshot that says what it read and did; return whether that has landed."""
    pin = attempts.pin
    if pin is None or files is None:
        return attempts.submit(table, partial(_overwrite, rows=row), result=new)
    now_ms = SystemClock().now_ms()
    landing = Landing.on(
        Ledger.at(attempts.name, table, pin, LedgerPolicy()),
        table.metadata,
        Names(),
        (),
        retention=RetentionPolicy(),
        attempt=attempts.count + 1,
        writer=Writer(),
        now_ms=now_ms,
    )
    change = summary.words_of_change([_WHERE], rows_added=1, rows_removed=1, sums={_BALANCE: new - balance})

    def write(handle: Table) -> None:
        landing.accompany(handle)
        steps = steps_of(attempts.name, handle.metadata, Rewrite(row, where=_WHERE))
        staged = Stage(attempts.name, handle, handle.io, pin.snapshot_id, steps, files).run()
        submit(handle, staged, pin.branch, now_ms, files.entries)

    return attempts.submit(table, write, result=new, words={**landing.words, **change}, tag=landing.tag)


def _overwrite(table: Table, rows: pa.Table) -> None:
    table.overwrite(rows, overwrite_filter=_WHERE)


def _row(table: Table, name: str, files: BaseFiles | None) -> pa.Table:
    if files is not None:
        head = table.current_snapshot()
        rows = Base(name, head.snapshot_id if head is not None else None, (), table, files).read(_WHERE)
    else:
        rows = table.scan(row_filter=_WHERE).to_arrow()
        if _ID in rows.schema.names:  # A double's scan may not filter.
            rows = rows.filter(pc.equal(rows[_ID], _ACCOUNT))
    if rows.num_rows == 0:
        raise RowNotFoundError(name, key=_ACCOUNT)
    if rows.num_rows > 1:
        raise DuplicateKeyError(name, key=_ACCOUNT, count=rows.num_rows)
    return rows


def _balance(row: pa.Table, name: str) -> int:
    if _BALANCE not in row.schema.names:
        raise BalanceError(name, value=None, reason=f"there is no column {_BALANCE!r}, only {row.schema.names}")
    value = row[_BALANCE][0].as_py()
    if not _is_int(value):
        raise BalanceError(name, value=value, reason="the balance of the row with id 1 must be an integer")
    return int(value)


def _with_balance(row: pa.Table, value: Any, name: str) -> pa.Table:
    if not _is_int(value):
        raise BalanceError(name, value=value, reason="mutate must return an int")
    column = row.schema.get_field_index(_BALANCE)
    field = row.schema.field(column)
    try:
        values = pa.array([value], type=field.type)
    except (OverflowError, pa.ArrowInvalid) as err:
        raise BalanceError(name, value=value, reason=f"column {_BALANCE} holds {field.type}") from err
    return row.set_column(column, field, values)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
