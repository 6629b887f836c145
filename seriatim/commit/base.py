"""The base of an attempt: one snapshot, to read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.schema import Schema
from pyiceberg.table import Table


@dataclass(frozen=True, slots=True)
class Base:
    """What a change is computed from: the table at one snapshot, and what is left to do.

    `pending` holds those of the call's operation ids that have not landed in the history of this snapshot, in the order
    in which they were given.
    """

    table: str
    snapshot_id: int | None  # None: the table is empty
    pending: tuple[str, ...]
    _handle: Table

    @property
    def schema(self) -> Schema:
        """The schema that the change is to be written with."""
        return self._handle.schema()

    def read(self, where: BooleanExpression | str | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows that match `where` (None: all) with these `columns` (None: all)."""
        scan = self._handle.scan(
            row_filter=AlwaysTrue() if where is None else where,
            selected_fields=("*",) if columns is None else tuple(columns),
            snapshot_id=self.snapshot_id,
        )
        return scan.to_arrow()
