"""For which rows of an Arrow table an understood condition is true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import (
    BooleanExpression,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNaN,
    IsNull,
    LessThan,
    LessThanOrEqual,
    NotEqualTo,
    NotIn,
    NotNaN,
    NotNull,
    NotStartsWith,
    StartsWith,
)
from pyiceberg.expressions.visitors import visit
from pyiceberg.schema import Schema

from seriatim.commit.conditions import Understood, path_of


def mask_of(schema: Schema, condition: BooleanExpression, rows: pa.Table) -> pa.Array:
    """Tell of each row whether the condition is true; never null.

    The rows have the columns that the condition is about, under the names of the schema.
    """
    mask = visit(condition, _Mask(schema, rows))
    return mask.combine_chunks() if isinstance(mask, pa.ChunkedArray) else mask


def plain(values: Any) -> Any:
    """Return a column in types that Arrow can group, join and look up by: a UUID's bytes, and one zero among floats."""
    if isinstance(values.type, pa.BaseExtensionType):
        return values.cast(values.type.storage_type)
    # A sum of -0.0 and 0.0 is 0.0; the two are equal, but Arrow looks up by their bits.
    return pc.add(values, pa.scalar(0, values.type)) if pa.types.is_floating(values.type) else values


class _Mask(Understood[Any]):
    """Works out the mask, an Arrow column of booleans without nulls, from those of the comparisons."""

    def __init__(self, schema: Schema, rows: pa.Table) -> None:
        self._schema, self._rows = schema, rows

    def visit_true(self) -> Any:
        return pa.repeat(True, self._rows.num_rows)

    def visit_false(self) -> Any:
        return pa.repeat(False, self._rows.num_rows)

    def visit_and(self, left_result: Any, right_result: Any) -> Any:
        return pc.and_(left_result, right_result)

    def visit_or(self, left_result: Any, right_result: Any) -> Any:
        return pc.or_(left_result, right_result)

    def visit_unbound_predicate(self, predicate: Any) -> Any:
        first, *inner = path_of(self._schema, predicate.term.name)
        column = self._rows[first]
        column = plain(pc.struct_field(column, inner) if inner else column)
        return pc.fill_null(_TESTS[type(predicate)](column, predicate), False)


def _comparing(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda column, predicate: compare(column, pa.scalar(predicate.literal.value, column.type))


def _is_in(column: Any, predicate: Any) -> Any:
    values = pa.array([literal.value for literal in predicate.literals], column.type)
    return pc.is_in(column, value_set=plain(values))


# Null where the comparison is null.
_TESTS: Final[dict[type, Callable[[Any, Any], Any]]] = {
    IsNull: lambda column, _: pc.is_null(column),
    NotNull: lambda column, _: pc.is_valid(column),
    IsNaN: lambda column, _: pc.is_nan(column),
    NotNaN: lambda column, _: pc.invert(pc.fill_null(pc.is_nan(column), False)),
    In: _is_in,
    NotIn: lambda column, predicate: pc.and_(pc.is_valid(column), pc.invert(_is_in(column, predicate))),
    StartsWith: lambda column, predicate: pc.starts_with(column, predicate.literal.value),
    NotStartsWith: lambda column, predicate: pc.invert(pc.starts_with(column, predicate.literal.value)),
    EqualTo: _comparing(pc.equal),
    NotEqualTo: _comparing(pc.not_equal),
    LessThan: _comparing(pc.less),
    LessThanOrEqual: _comparing(pc.less_equal),
    GreaterThan: _comparing(pc.greater),
    GreaterThanOrEqual: _comparing(pc.greater_equal),
}
