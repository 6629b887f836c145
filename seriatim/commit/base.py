"""The base of an attempt: one snapshot, to read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.schema import Schema
from pyiceberg.table import DataScan, Table

from seriatim.commit.conditions import as_arrow, provable, understood
from seriatim.errors import InvalidChangeError


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
        """Return the rows that match `where` (None: all) with these `columns` (None: all).

        What is read is remembered: a later commit that may have touched it makes the change be computed again, one that
        cannot have touched it does not.

        Raises:
            InvalidChangeError: the condition or the columns do not fit the table; nothing was written.
        """
        condition = AlwaysTrue() if where is None else understood(self.table, self.schema, where)
        selected = ("*",) if columns is None else self._columns(columns)
        self._reads.append(condition)
        # A scan of a snapshot id has the schema that the snapshot was written with. What is written has the table's, so
        # that is what must be read: a column that was dropped, and added again under its name, is empty.
        metadata = self._handle.metadata.model_copy(update={"current_snapshot_id": self.snapshot_id})
        planned = provable(metadata, condition)
        if planned is condition:
            return DataScan(metadata, self._handle.io, row_filter=condition, selected_fields=selected).to_arrow()
        rows = DataScan(metadata, self._handle.io, row_filter=planned).to_arrow()
        return rows.filter(as_arrow(self.schema, condition)).select(list(columns or rows.column_names))

    def _columns(self, columns: Sequence[str]) -> tuple[str, ...]:
        names = () if isinstance(columns, str) else tuple(columns)
        try:
            self.schema.select(*names, case_sensitive=True)
        except ValueError as err:
            names = ()
            reason = f": {err}"
        else:
            reason = ""
        if not names:
            raise InvalidChangeError(
                f"{self.table}: columns={columns!r} is no sequence of columns of the table{reason}; they are "
                f"{self.schema.column_names}. Nothing was written."
            )
        return names
