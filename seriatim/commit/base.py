"""The base of an attempt: one snapshot, to read from."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table

from seriatim.commit.arrow_schemas import arrow_schema
from seriatim.commit.base_files import BaseFiles
from seriatim.commit.conditions import names_in, understood
from seriatim.commit.selection import Where
from seriatim.errors import InvalidChangeError

_FILES_AT_ONCE: Final = 4  # Their rows are in memory before those that do not match are dropped.


@dataclass(frozen=True, slots=True)
class Base:
    """What a change is computed from: the table at one snapshot, and what is left to do.

    `pending` holds those of the call's operation ids that have not landed in the history of this snapshot, in the order
    in which they were given.
    """

    table: str
    snapshot_id: int | None  # None: the branch has no snapshot yet
    pending: tuple[str, ...]
    _handle: Table
    _files: BaseFiles = field(repr=False, compare=False)
    _reads: list[BooleanExpression] = field(default_factory=list, repr=False, compare=False)

    @property
    def reads(self) -> tuple[BooleanExpression, ...]:
        """What has been read so far."""
        return tuple(self._reads)

    @property
    def schema(self) -> Schema:
        """The schema that the change is to be written with."""
        return self._handle.schema()

    def read(self, where: BooleanExpression | str | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows that match `where` (None: all) with these `columns` (None: all), in the table's order.

        They are the rows that an edit with the same `where` takes away. A row for which the condition is null (a NULL
        compared) does not match; NaN equals nothing and is neither below nor above anything, but `x is nan` finds it.
        What is read is remembered: a later commit that may have touched it makes the change be computed again, one that
        cannot have touched it does not.

        Raises:
            InvalidChangeError: the condition or the columns do not fit the table; nothing was written.
        """
        condition = AlwaysTrue() if where is None else understood(self.table, self.schema, where)
        wanted = self.schema if columns is None else self._columns(columns)
        read = wanted if columns is None else self._columns([*columns, *names_in(condition)])
        self._reads.append(condition)
        # A scan of a snapshot id has the schema that the snapshot was written with. What is written has the table's, so
        # that is what must be read: a column that was dropped, and added again under its name, is empty.
        tasks = self._files.holding(self.snapshot_id, condition)
        if condition == AlwaysTrue():
            return self._files.rows(wanted, tasks)
        selection = Where(condition, self.schema)

        def matching(tasks: Sequence[FileScanTask]) -> pa.Table:
            rows = self._files.rows(read, tasks)
            return _only(wanted, read, rows.filter(selection.mask(rows)))

        if len(tasks) <= 1:
            return matching(tasks)
        with ThreadPoolExecutor(_FILES_AT_ONCE) as threads:
            tables = list(threads.map(matching, [[task] for task in tasks]))
        return pa.concat_tables(tables, promote_options="permissive")

    def _columns(self, columns: Sequence[str]) -> Schema:
        names = () if isinstance(columns, str) else tuple(columns)
        reason = ""
        try:
            if names:
                return self.schema.select(*names, case_sensitive=True)
        except ValueError as err:
            reason = f": {err}"
        raise InvalidChangeError(
            f"{self.table}: columns={columns!r} is no sequence of columns of the table{reason}; they are "
            f"{self.schema.column_names}. Nothing was written."
        )


def _only(wanted: Schema, read: Schema, rows: pa.Table) -> pa.Table:
    """Return the wanted ones of the columns that were read, without what else was read of a struct."""
    if wanted is read:
        return rows
    rows, arrow = rows.select([field.name for field in wanted.fields]), arrow_schema(wanted)
    fields = [
        given if read.find_type(field.field_id) == field.field_type else given.with_type(arrow.field(given.name).type)
        for field, given in zip(wanted.fields, rows.schema, strict=True)
    ]
    return rows.cast(pa.schema(fields))
