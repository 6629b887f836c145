"""Writes a change through a table handle, as one commit."""

from __future__ import annotations

from collections import Counter
from typing import assert_never

import pyarrow as pa
from pyiceberg.expressions import In
from pyiceberg.table import Table

from seriatim.commit.change import Append, Change, NoChange, Rewrite
from seriatim.errors import DuplicateKeyError, InvalidChangeError


def check(table: str, columns: list[str], change: Change) -> None:
    """Refuse a change that the table cannot take, before anything is written.

    Raises:
        InvalidChangeError: the rows lack a column or have one too many, or a key is null.
        DuplicateKeyError: two rows have the same key.
    """
    match change:
        case Rewrite(rows, key):
            _check_columns(table, columns, rows)
            _check_keys(table, rows, key)
        case Append(rows):
            _check_columns(table, columns, rows)
        case NoChange():
            pass
        case _:
            raise InvalidChangeError(f"{table}: {change!r} is no change; return Rewrite, Append or NoChange")


def write(table: Table, change: Change, properties: dict[str, str]) -> None:
    """Write `change`, with `properties` in the summary of each of its snapshots. Always commits, be it an empty one."""
    match change:
        case Rewrite(rows, key) if rows.num_rows:
            table.overwrite(rows, overwrite_filter=In(key, rows[key].to_pylist()), snapshot_properties=properties)
        case Append(rows):
            table.append(rows, snapshot_properties=properties)
        case Rewrite() | NoChange():
            table.append(table.schema().as_arrow().empty_table(), snapshot_properties=properties)
        case _:
            assert_never(change)


def is_empty(change: Change) -> bool:
    """Tell whether the change leaves every row as it is."""
    return rows_of(change) == 0


def rows_of(change: Change) -> int:
    """Return how many rows the change writes."""
    return 0 if isinstance(change, NoChange) else change.rows.num_rows


def _check_columns(table: str, columns: list[str], rows: object) -> None:
    if not isinstance(rows, pa.Table):
        raise InvalidChangeError(f"{table}: rows must be a pyarrow.Table, not {type(rows).__name__}")
    missing = [name for name in columns if name not in rows.column_names]
    unknown = [name for name in rows.column_names if name not in columns]
    if missing or unknown or len(rows.column_names) != len(columns):
        raise InvalidChangeError(
            f"{table}: the rows have columns {rows.column_names}, the table has {columns}; "
            f"missing: {missing}, unknown: {unknown}. Write every column: one that is left out would become null."
        )


def _check_keys(table: str, rows: pa.Table, key: str) -> None:
    if key not in rows.column_names:
        raise InvalidChangeError(f"{table}: there is no column {key!r} to tell rows by, only {rows.column_names}")
    keys = rows[key].to_pylist()
    if None in keys:
        raise InvalidChangeError(f"{table}: row {keys.index(None)} of the change has no {key!r}; a key cannot be null")
    value, count = next(iter(Counter(keys).most_common(1)), (None, 0))
    if count > 1:
        raise DuplicateKeyError(table, key=value, count=count)
