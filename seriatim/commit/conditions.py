"""Conditions on rows, brought into the one form in which every part of PyIceberg takes them to mean the same.

PyIceberg compares a condition with a file's partition and bounds in one way and with its rows in another. The two
differ over NaN under `not` (`not x < 5` skips a file by `x >= 5`, but keeps a NaN of a file that it reads), over
numbers that a column of 32-bit floats cannot hold (0.1), and over fields inside of structs. Which rows a change reads
would depend on how they lie in files, and a file that holds such a row be taken for one that cannot (promise P3).
"""

from __future__ import annotations

import inspect
import struct
from dataclasses import dataclass
from typing import Any, Final

import pyarrow.compute as pc
from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    BooleanExpression,
    LiteralPredicate,
    Not,
    NotStartsWith,
    Or,
    SetPredicate,
)
from pyiceberg.expressions.parser import parse
from pyiceberg.expressions.visitors import BooleanExpressionVisitor, bind, extract_field_ids, rewrite_not, visit
from pyiceberg.io.pyarrow import expression_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import BucketTransform, Transform, TruncateTransform
from pyiceberg.types import DecimalType, DoubleType, FloatType, IcebergType, IntegerType, LongType, NestedField

from seriatim.errors import InvalidChangeError

_TEXT_MAX: Final = 300

# 0.10 looks for a column of the table that is called like the field.
_KNOWS_NESTED: Final = "schema" in inspect.signature(expression_to_pyarrow).parameters


def _reads_narrow_bounds() -> bool:
    try:
        values: list[Any] = [from_bytes(type_, bytes(4)) for type_ in (LongType(), DoubleType())]
    except struct.error:
        return False
    return values == [0, 0]


_READS_NARROW_BOUNDS: Final = _reads_narrow_bounds()


def understood(table: str, schema: Schema, where: BooleanExpression | str) -> BooleanExpression:
    """Return the condition in that form.

    Raises:
        InvalidChangeError: it cannot be parsed, or does not fit the table's columns.
    """
    try:
        condition = rewrite_not(parse(where) if isinstance(where, str) else where)
        condition = visit(condition, _Rounding(schema))
        nested = _nested(schema, bind(schema, condition, case_sensitive=True))
    except Exception as err:  # PyIceberg's parser and binder raise what they meet.
        raise InvalidChangeError(
            f"{table}: where={_short(repr(where))} cannot be understood: {_short(str(err))}. The columns are "
            f"{schema.column_names}. Nothing was written."
        ) from err
    if nested and not _KNOWS_NESTED:
        raise InvalidChangeError(
            f"{table}: where={_short(repr(where))} is about {nested}, which PyIceberg 0.10 cannot tell from a column "
            f"of the table; use a newer one, or a condition on columns. Nothing was written."
        )
    return condition


def _short(text: str) -> str:
    """Return a text that may hold a million values, or a whole grammar, so that a person can read it."""
    return text if len(text) <= _TEXT_MAX else text[: _TEXT_MAX - 3] + "..."


def provable(metadata: TableMetadata, condition: BooleanExpression) -> BooleanExpression:
    """Return what of an understood condition may be compared with a file's partition and bounds.

    It holds for every row for which the condition does. Left out are comparisons that some version of PyIceberg gets
    wrong there, with:

    - a decimal that the table is bucketed by (0.10 and 0.11 write other buckets than they look in),
    - a double that it is partitioned by (all write a 32-bit float),
    - an integer that it is truncated by (all wrap around at the smallest ones),
    - `not starts with` on a truncated column (0.10 and 0.11),
    - a column whose type was widened since (0.10 and 0.11 cannot read the bounds of older files).
    """
    doubtful = _Doubtful.of(metadata)
    return visit(condition, _Leaving(metadata.schema(), doubtful)) if doubtful.any else condition


def as_arrow(schema: Schema, condition: BooleanExpression) -> pc.Expression:
    """Return an understood condition for use on an Arrow table with that schema."""
    bound = bind(schema, condition, case_sensitive=True)
    return expression_to_pyarrow(bound, schema) if _nested(schema, bound) else expression_to_pyarrow(bound)


def _nested(schema: Schema, bound: BooleanExpression) -> list[str]:
    """Return the fields inside of other fields that a bound condition is about."""
    columns = {field.field_id for field in schema.fields}
    return sorted(str(schema.find_column_name(field_id)) for field_id in extract_field_ids(bound) - columns)


@dataclass(frozen=True, slots=True)
class _Doubtful:
    """Columns, by field id, whose comparison with what is known of a file is not to be trusted."""

    any: frozenset[int]
    entirely: frozenset[int]  # the others only for `not starts with`

    @classmethod
    def of(cls, metadata: TableMetadata) -> _Doubtful:
        types = {field.field_id: field.field_type for field in metadata.schema().fields}
        partitions = [(field.source_id, field.transform) for spec in metadata.partition_specs for field in spec.fields]
        off = {id_ for id_, transform in partitions if _is_off(types.get(id_), transform)}
        truncated = {id_ for id_, transform in partitions if isinstance(transform, TruncateTransform)}
        former = [] if _READS_NARROW_BOUNDS else [field for schema in metadata.schemas for field in schema.fields]
        widened = {one.field_id for one in former if types.get(one.field_id, one.field_type) != one.field_type}
        return cls(frozenset(off | widened | truncated), frozenset(off | widened))


def _is_off(type_: IcebergType | None, transform: Transform[Any, Any]) -> bool:
    match type_:
        case DoubleType():
            return True
        case DecimalType():
            return isinstance(transform, BucketTransform)
        case IntegerType() | LongType():
            return isinstance(transform, TruncateTransform)
    return False


class _Rewriting(BooleanExpressionVisitor[BooleanExpression]):
    """Builds a condition anew, each comparison by itself."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def visit_true(self) -> BooleanExpression:
        return AlwaysTrue()

    def visit_false(self) -> BooleanExpression:
        return AlwaysFalse()

    def visit_not(self, child_result: BooleanExpression) -> BooleanExpression:
        return Not(child_result)

    def visit_and(self, left_result: BooleanExpression, right_result: BooleanExpression) -> BooleanExpression:
        return And(left_result, right_result)

    def visit_or(self, left_result: BooleanExpression, right_result: BooleanExpression) -> BooleanExpression:
        return Or(left_result, right_result)

    def visit_bound_predicate(self, predicate: Any) -> BooleanExpression:
        raise TypeError(f"{predicate} is bound to a schema already")

    def visit_unbound_predicate(self, predicate: Any) -> BooleanExpression:
        return self.rewritten(predicate, self._schema.find_field(predicate.term.name, case_sensitive=True))

    def rewritten(self, predicate: Any, field: NestedField) -> BooleanExpression:
        raise NotImplementedError


class _Rounding(_Rewriting):
    """Gives numbers that are compared with 32-bit floats the value that such a float has."""

    def rewritten(self, predicate: Any, field: NestedField) -> BooleanExpression:
        make: Any = type(predicate)
        if isinstance(field.field_type, FloatType) and isinstance(predicate, LiteralPredicate):
            return make(predicate.term.name, _rounded(predicate.literal.value))
        if isinstance(field.field_type, FloatType) and isinstance(predicate, SetPredicate):
            return make(predicate.term.name, {_rounded(literal.value) for literal in predicate.literals})
        return predicate


class _Leaving(_Rewriting):
    """Leaves out what is doubtful."""

    def __init__(self, schema: Schema, doubtful: _Doubtful) -> None:
        super().__init__(schema)
        self._doubtful = doubtful

    def rewritten(self, predicate: Any, field: NestedField) -> BooleanExpression:
        is_out = field.field_id in self._doubtful.entirely or isinstance(predicate, NotStartsWith)
        return AlwaysTrue() if is_out and field.field_id in self._doubtful.any else predicate


def _rounded(value: Any) -> Any:
    """Return the nearest 32-bit float; anything that has none is PyIceberg's to judge."""
    try:
        return struct.unpack("<f", struct.pack("<f", float(value)))[0]  # Parsed text gives Decimal, and int.
    except (OverflowError, TypeError, ValueError):
        return value
