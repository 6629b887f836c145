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

from seriatim.commit.conditions import understood
from seriatim.commit.masks import mask_of, plain

_IN_MAX = 200  # PyIceberg does not compare more values than this with a file's bounds.


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
    """The rows for which an understood condition is true. Where it is null (a NULL compared) a row is not selected."""

    condition: BooleanExpression
    schema: Schema

    def covering(self) -> BooleanExpression:
        """Return the condition itself."""
        return self.condition

    def mask(self, rows: pa.Table) -> pa.Array:
        """Tell of each row whether the condition is true."""
        return mask_of(self.schema, self.condition, rows)


@dataclass(frozen=True, slots=True)
class Keys:
    """The rows whose key columns equal a row of `keys`, which has no nulls, no NaN and no row twice."""

    keys: pa.Table
    schema: Schema

    def covering(self) -> BooleanExpression:
        """Return one condition for each key column, joined by And."""
        if self.keys.num_rows == 0:
            return AlwaysFalse()
        conditions = [understood("keys", self.schema, _covering(name, self.keys[name])) for name in self._names]
        return conditions[0] if len(conditions) == 1 else And(*conditions)

    def mask(self, rows: pa.Table) -> pa.Array:
        """Tell of each row whether its key is among the keys."""
        of_rows, keys = hashable(rows.select(self._names)), hashable(self.keys)
        if len(self._names) == 1:
            return pc.is_in(of_rows["0"], value_set=keys["0"].combine_chunks()).combine_chunks()
        numbers = pa.array(range(rows.num_rows), pa.int64())
        chosen = of_rows.append_column("row", numbers).join(keys, keys=keys.column_names, join_type="left semi")["row"]
        return pc.is_in(numbers, value_set=chosen.combine_chunks())

    def absent_from(self, rows: Sequence[pa.Table]) -> pa.Table:
        """Return the keys that none of the tables holds."""
        left = self.keys
        for table in rows:
            left = left.filter(pc.invert(Keys(table.select(self._names), self.schema).mask(left)))
        return left

    @property
    def _names(self) -> list[str]:
        names: list[str] = self.keys.column_names
        return names


def hashable(keys: pa.Table) -> pa.Table:
    """Return the columns as Arrow can group and join by them, named by their numbers."""
    return pa.table({str(number): plain(column) for number, column in enumerate(keys.columns)})


def _covering(name: str, values: pa.ChunkedArray) -> BooleanExpression:
    values = plain(values)
    if pa.types.is_temporal(values.type):  # Python's dates end with the year 9999.
        values = values.cast(pa.int32() if pa.types.is_date32(values.type) else pa.int64())
    if len(values) <= _IN_MAX:
        return In(name, values.to_pylist())
    bounds = pc.min_max(values).as_py()
    return And(GreaterThanOrEqual(name, bounds["min"]), LessThanOrEqual(name, bounds["max"]))
