"""Turns the statistics of a file in a Delta log into Iceberg's metrics of that file.

Only for columns of primitive types, in structs too; Iceberg has them by the id of the column. Statistics that name no
column, or are of another shape than the column, are passed over: a file may have been written under another schema. The
counts are of all rows that are in the file: what a deletion vector deletes is deleted by a delete file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, PrimitiveType, StructType

from seriatim.mirror.delta.actions import AddFile, Metadata
from seriatim.mirror.forms import delta_schema
from seriatim.mirror.forms.bounds import lower_bound, upper_bound
from seriatim.mirror.forms.delta_schema import Path


@dataclass(frozen=True, slots=True)
class Metrics:
    """What a manifest says of the columns of a file, by field id."""

    value_counts: dict[int, int] = field(default_factory=dict)
    null_value_counts: dict[int, int] = field(default_factory=dict)
    lower_bounds: dict[int, bytes] = field(default_factory=dict)
    upper_bounds: dict[int, bytes] = field(default_factory=dict)


def record_count(add: AddFile) -> int | None:
    """Return the number of rows in the file (None: the log does not say)."""
    return _count((add.stats or {}).get("numRecords"))


def metrics(add: AddFile, schema: Schema, metadata: Metadata) -> Metrics:
    """Return what is certain of the file's columns."""
    result, stats, rows = Metrics(), add.stats or {}, record_count(add)
    is_loose = stats.get("tightBounds") is False or add.deletion_vector is not None
    is_mapped = delta_schema.is_mapped(metadata)
    for path, column in _leaves(schema.fields, metadata.schema, (), is_mapped=is_mapped):
        nulls = _count(_at(stats.get("nullCount"), path))
        if rows is not None and nulls is not None and _is_certain(nulls, rows, is_loose=is_loose):
            result.value_counts[column.field_id] = rows
            result.null_value_counts[column.field_id] = nulls
        lower = lower_bound(column.field_type, _at(stats.get("minValues"), path))
        upper = upper_bound(column.field_type, _at(stats.get("maxValues"), path))
        if lower is not None:
            result.lower_bounds[column.field_id] = lower
        if upper is not None:
            result.upper_bounds[column.field_id] = upper
    return result


def _is_certain(nulls: int, rows: int, *, is_loose: bool) -> bool:
    """Tell whether the count of nulls can be relied on: with loose bounds that is so of none and of all alone."""
    return nulls in (0, rows) if is_loose else nulls <= rows


def _leaves(
    columns: Sequence[NestedField], said: Mapping[str, Any], outer: Path, *, is_mapped: bool
) -> Iterator[tuple[Path, NestedField]]:
    """Yield the columns of primitive types with their physical paths; both schemas have the same fields, in order."""
    for each, column in zip(columns, delta_schema.fields(said, is_mapped=is_mapped), strict=True):
        path = (*outer, column.physical_name)
        if isinstance(each.field_type, StructType):
            yield from _leaves(each.field_type.fields, column.kind, path, is_mapped=is_mapped)
        elif isinstance(each.field_type, PrimitiveType):
            yield path, each


def _at(said: object, path: Path) -> object:
    for name in path:
        if not isinstance(said, Mapping):
            return None
        said = said.get(name)
    return said


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
