"""Which rows an edit takes away: by a condition, or by their keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import (
    AlwaysFalse,
    And,
    BooleanExpression,
    GreaterThanOrEqual,
    In,
    LessThanOrEqual,
)
from pyiceberg.schema import Schema

from seriatim.commit.conditions import as_arrow

_IN_MAX = 200  # PyIceberg does not compare more values than this with a file's bounds.
_ROW = "__seriatim_row"


class Selection(Protocol):
    """A set of rows."""

    def covering(self) -> BooleanExpression:
        """Return a condition that holds for every selected row, and may hold for others."""
        ...

    def mask(self, rows: pa.Table) -> pa.Array:
        """Tell of each row whether it is selected; never null."""
        ...


@dataclass(frozen=True, slots=True)
class Where:
    """The rows for which a condition is true. A row for which it is null (a NULL compared) is not selected."""

    condition: BooleanExpression
    schema: Schema

    def covering(self) -> BooleanExpression:
        """Return the condition itself."""
        return self.condition

    def mask(self, rows: pa.Table) -> pa.Array:
        """Tell of each row whether the condition is true."""
        numbered = rows.append_column(_ROW, pa.array(range(rows.num_rows), pa.int64()))
        chosen = numbered.filter(as_arrow(self.schema, self.condition))[_ROW]
        return pc.is_in(numbered[_ROW], value_set=chosen.combine_chunks()).combine_chunks()


@dataclass(frozen=True, slots=True)
class Keys:
    """The rows whose key columns equal a row of `keys`, which has no nulls and no row twice."""

    keys: pa.Table

    def covering(self) -> BooleanExpression:
        """Return one condition for each key column, joined by And."""
        if self.keys.num_rows == 0:
            return AlwaysFalse()
        conditions = [_covering(name, self.keys[name]) for name in self.keys.column_names]
        return conditions[0] if len(conditions) == 1 else And(*conditions)

    def mask(self, rows: pa.Table) -> pa.Array:
        """Tell of each row whether its key is among the keys."""
        names = self.keys.column_names
        of_rows, keys = hashable(rows.select(names)), hashable(self.keys)
        if len(names) == 1:
            return pc.is_in(of_rows[names[0]], value_set=keys[names[0]].combine_chunks()).combine_chunks()
        numbered = of_rows.append_column(_ROW, pa.array(range(rows.num_rows), pa.int64()))
        chosen = numbered.join(keys, keys=names, join_type="left semi")[_ROW]
        return pc.is_in(numbered[_ROW], value_set=chosen.combine_chunks()).combine_chunks()

    def absent_from(self, rows: Sequence[pa.Table]) -> pa.Table:
        """Return the keys that none of the tables holds."""
        left = self.keys
        for table in rows:
            left = left.filter(pc.invert(Keys(table.select(left.column_names)).mask(left)))
        return left


def hashable(keys: pa.Table) -> pa.Table:
    """Return the table with the bytes of each UUID in its place: Arrow groups and joins by nothing but plain types."""
    fields = [
        field.with_type(field.type.storage_type) if isinstance(field.type, pa.BaseExtensionType) else field
        for field in keys.schema
    ]
    return keys.cast(pa.schema(fields))


def _covering(name: str, values: pa.ChunkedArray) -> BooleanExpression:
    if len(values) <= _IN_MAX:
        return In(name, values.to_pylist())
    plain = hashable(pa.table({name: values}))[name]
    bounds = pc.min_max(plain)
    ends = pa.chunked_array([pa.array([bounds["min"].as_py(), bounds["max"].as_py()], plain.type)]).cast(values.type)
    return And(GreaterThanOrEqual(name, ends[0].as_py()), LessThanOrEqual(name, ends[1].as_py()))
