"""What of a condition may be compared with what is known of a file, to rule out that it holds a row that matches."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import AlwaysFalse, AlwaysTrue, And, BooleanExpression, IsNull, NotStartsWith, Or, StartsWith
from pyiceberg.expressions.visitors import inclusive_projection, strict_projection, visit
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import BucketTransform, Transform, TruncateTransform
from pyiceberg.types import BinaryType, DecimalType, DoubleType, IcebergType, IntegerType, LongType

from seriatim.commit.conditions import Understood, path_of


def _reads_narrow_bounds() -> bool:
    try:
        values: list[Any] = [from_bytes(type_, bytes(4)) for type_ in (LongType(), DoubleType())]
    except struct.error:
        return False
    return values == [0, 0]


_READS_NARROW_BOUNDS: Final = _reads_narrow_bounds()


def provable(metadata: TableMetadata, condition: BooleanExpression) -> BooleanExpression:
    """Return what of an understood condition may be compared with a file's partition and bounds.

    It holds for every row for which the condition does. Left out are comparisons that some version of PyIceberg gets
    wrong there, with:

    - a decimal that the table is bucketed by (0.10 and 0.11 write other buckets than they look in),
    - a double that it is partitioned by (all write a 32-bit float),
    - an integer that it is truncated by (all wrap around at the smallest ones),
    - `not starts with` on a truncated column (0.10 and 0.11),
    - a column whose type was widened since (0.10 and 0.11 cannot read the bounds of older files),
    - `is null` on a field inside of a struct (all forget that the struct may be null),
    - `starts with` and its opposite on bytes (0.10 and 0.11 compare them with text),
    - a value that it fails on (all count one day beyond 9999-12-31).
    """
    return visit(condition, _Leaving(metadata))


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


class _Leaving(Understood[BooleanExpression]):
    """Leaves out what is doubtful."""

    def __init__(self, metadata: TableMetadata) -> None:
        self._schema, self._doubtful = metadata.schema(), _Doubtful.of(metadata)
        self._projections: list[Callable[[BooleanExpression], BooleanExpression]] = [
            project(self._schema, spec, True)
            for spec in metadata.partition_specs
            for project in (inclusive_projection, strict_projection)  # PyIceberg's scans make both.
        ]

    def visit_true(self) -> BooleanExpression:
        return AlwaysTrue()

    def visit_false(self) -> BooleanExpression:
        return AlwaysFalse()

    def visit_and(self, left_result: BooleanExpression, right_result: BooleanExpression) -> BooleanExpression:
        return And(left_result, right_result)

    def visit_or(self, left_result: BooleanExpression, right_result: BooleanExpression) -> BooleanExpression:
        return Or(left_result, right_result)

    def visit_unbound_predicate(self, predicate: Any) -> BooleanExpression:
        return AlwaysTrue() if self._is_wrong(predicate) or self._fails(predicate) else predicate

    def _is_wrong(self, predicate: Any) -> bool:
        name = predicate.term.name
        if isinstance(predicate, IsNull) and len(path_of(self._schema, name)) > 1:
            return True
        field = self._schema.find_field(name, case_sensitive=True)
        if isinstance(predicate, StartsWith | NotStartsWith) and isinstance(field.field_type, BinaryType):
            return True
        doubtful = self._doubtful.any if isinstance(predicate, NotStartsWith) else self._doubtful.entirely
        return field.field_id in doubtful

    def _fails(self, predicate: BooleanExpression) -> bool:
        try:
            for project in self._projections:
                project(predicate)
        except (ArithmeticError, TypeError, ValueError):
            return True
        return False
