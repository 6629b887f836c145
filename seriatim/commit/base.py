"""The base of an attempt: one snapshot, to read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.expressions.parser import parse
from pyiceberg.schema import Schema
from pyiceberg.table import Table


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
        """
        condition = AlwaysTrue() if where is None else parse(where) if isinstance(where, str) else where
        self._reads.append(condition)
        scan = self._handle.scan(
            row_filter=condition,
            selected_fields=("*",) if columns is None else tuple(columns),
            snapshot_id=self.snapshot_id,
        )
        return scan.to_arrow()
