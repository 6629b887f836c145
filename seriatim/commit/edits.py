"""Checks what a computation returned, and turns it into rows to take away and rows to add."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import BooleanExpression
from pyiceberg.table.metadata import TableMetadata

from seriatim.commit import private
from seriatim.commit.arrow_schemas import arrow_schema
from seriatim.commit.change import Append, Change, Declared, Delete, Edit, NoChange, Rewrite, Upsert
from seriatim.commit.conditions import understood
from seriatim.commit.selection import Keys, Selection, Where, hashable
from seriatim.errors import DuplicateKeyError, InvalidChangeError


@dataclass(frozen=True, slots=True)
class Step:
    """One edit, checked: take the selected rows away, then add `rows`."""

    selection: Selection | None  # None: nothing is taken away
    rows: pa.Table
    must_exist: bool = False  # whether each key of the selection must have a row


def steps_of(table: str, metadata: TableMetadata, change: Change) -> tuple[Step, ...]:
    """Return the steps of a change, in order; none for `NoChange`.

    Raises:
        InvalidChangeError: the change is none, or it does not fit the table; the message says which part and why.
        DuplicateKeyError: two rows of an edit have the same key.
    """
    edits = change.edits if isinstance(change, Declared) else change
    if isinstance(edits, NoChange):
        return ()
    edits = edits if isinstance(edits, list | tuple) else (edits,)
    return tuple(_Checker(table, metadata).step(edit) for edit in edits)


def sums_of(table: str, metadata: TableMetadata, change: Change) -> dict[str, int]:
    """Return by how much the change says it moves the totals of columns.

    Raises:
        InvalidChangeError: there is no such column, or a sum is no whole number.
    """
    if not isinstance(change, Declared):
        return {}
    columns = [field.name for field in metadata.schema().fields]
    for name, total in change.sums.items():
        if name not in columns or not isinstance(total, int) or isinstance(total, bool):
            raise InvalidChangeError(
                f"{table}: the sum {name}={total!r} is not a whole number for one of the columns {columns}. Nothing "
                f"was written."
            )
    return dict(change.sums)


class _Checker:
    """The checks, on one table."""

    def __init__(self, table: str, metadata: TableMetadata) -> None:
        self._table, self._metadata = table, metadata
        self._schema = metadata.schema()
        self._arrow = arrow_schema(self._schema)

    def step(self, edit: Edit | object) -> Step:
        match edit:
            case Append(rows):
                return Step(None, self._rows(rows))
            case Upsert(rows, keys):
                checked = self._rows(rows)
                return Step(self._keys(checked.select(self._names(keys))), checked)
            case Rewrite(rows, keys, where):
                checked = self._rows(rows)
                if bool(keys) == (where is not None):
                    raise self._error("Rewrite takes either keys or where")
                if where is not None:
                    return Step(self._where(where), checked)
                return Step(self._keys(checked.select(self._names(keys))), checked, must_exist=True)
            case Delete(where, keys):
                if (keys is None) == (where is None):
                    raise self._error("Delete takes either keys or where")
                selection = self._keys(self._key_table(keys)) if where is None else self._where(where)
                return Step(selection, self._arrow.empty_table())
            case _:
                shown = reprlib.repr(edit)
                raise self._error(f"{shown} is no change; return Rewrite, Upsert, Append, Delete or NoChange")

    def _rows(self, rows: object) -> pa.Table:
        if not isinstance(rows, pa.Table):
            raise self._error(f"rows must be a pyarrow.Table, not {type(rows).__name__}")
        names = self._arrow.names
        missing = [name for name in names if name not in rows.column_names]
        unknown = [name for name in rows.column_names if name not in names]
        if missing or unknown or len(rows.column_names) != len(names):
            raise self._error(
                f"the rows have columns {rows.column_names}, the table has {names}; missing: {missing}, unknown: "
                f"{unknown}. Write every column once: one that is left out would become null"
            )
        for field in self._arrow:
            if not field.nullable and rows[field.name].null_count:
                row = pc.index(pc.is_null(rows[field.name]), True).as_py()
                raise self._error(f"row {row} has no {field.name}, which the table requires")
        return self._cast(rows.select(names), "rows")

    def _cast(self, rows: pa.Table, what: str) -> pa.Table:
        """Return some columns of the table with the table's types; no value changes but for the width of its type."""
        wanted = pa.schema([self._arrow.field(name) for name in rows.column_names])
        if rows.schema.equals(wanted):
            return rows
        given = {field.name: field for field in rows.schema}
        schema = [given.get(field.name, field) for field in self._arrow]
        try:
            private.check_schema(self._metadata, pa.schema(schema))
            return rows.cast(wanted)
        except (ValueError, TypeError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as err:
            raise self._error(f"the {what} do not fit the table's schema: {err}") from err

    def _names(self, keys: str | Sequence[str]) -> list[str]:
        names = [keys] if isinstance(keys, str) else list(keys) if isinstance(keys, Sequence) else [keys]
        unknown = [name for name in names if name not in self._arrow.names]
        if not names or unknown or len(set(names)) < len(names):
            raise self._error(f"the key columns {names} are not distinct columns of the table: {self._arrow.names}")
        return names

    def _key_table(self, keys: object) -> pa.Table:
        if not isinstance(keys, pa.Table):
            raise self._error(f"keys must be a pyarrow.Table of the key columns, not {type(keys).__name__}")
        self._names(keys.column_names)
        are_nullable = [field.with_nullable(self._arrow.field(field.name).nullable) for field in keys.schema]
        return self._cast(keys.cast(pa.schema(are_nullable)), "keys")

    def _keys(self, keys: pa.Table) -> Keys:
        for name in keys.column_names:
            column = keys[name]
            if pa.types.is_nested(column.type):
                raise self._error(f"{name} is a {column.type}; a key column holds plain values")
            is_bad = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
            if pc.any(is_bad).as_py():
                row = pc.index(is_bad, True).as_py()
                raise self._error(
                    f"row {row} has the key {name}={column[row].as_py()!r}; a key is neither null nor NaN"
                )
        if keys.num_rows > 1:
            self._require_distinct(keys)
        return Keys(keys, self._schema)

    def _require_distinct(self, keys: pa.Table) -> None:
        plain = hashable(keys)
        counts = plain.group_by(plain.column_names).aggregate([([], "count_all")])
        twice = counts.filter(pc.greater(counts["count_all"], 1))
        if twice.num_rows:
            *values, count = (column[0].as_py() for column in twice.select([*plain.column_names, "count_all"]).columns)
            key = values[0] if len(values) == 1 else dict(zip(keys.column_names, values, strict=True))
            raise DuplicateKeyError(self._table, key=key, count=count)

    def _where(self, where: BooleanExpression | str) -> Where:
        return Where(understood(self._table, self._schema, where), self._schema)

    def _error(self, message: str) -> InvalidChangeError:
        return InvalidChangeError(f"{self._table}: {message}. Nothing was written.")
