"""Sorts rows by the table's sort order before they are written (Iceberg spec, "Sorting")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.manifest import DATA_FILE_TYPE, DEFAULT_READ_VERSION, DataFile
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField

_KEY: Final = "key"
_SORT_ORDER_ID: Final = [field.name for field in DATA_FILE_TYPE[DEFAULT_READ_VERSION].fields].index("sort_order_id")


def sort_fields(metadata: TableMetadata) -> tuple[SortField, ...]:
    """Return what the table sorts by; nothing where it sorts by a column that is nested, which is not followed."""
    order_id = metadata.default_sort_order_id
    # DuckDB lists no order at all, not even the one that has no fields.
    fields = next((tuple(order.fields) for order in metadata.sort_orders if order.order_id == order_id), ())
    columns = {field.field_id for field in metadata.schema().fields}
    return fields if all(field.source_id in columns for field in fields) else ()


def in_order(metadata: TableMetadata, rows: pa.Table) -> pa.Table:
    """Return the rows as the table's sort order has them; a table without one has them as they are."""
    fields = sort_fields(metadata)
    if not fields:
        return rows
    keys: list[pa.ChunkedArray | pa.Array] = []
    directions: list[tuple[str, str]] = []
    for field in fields:
        for values, direction in _keys(metadata.schema(), field, rows):
            directions.append((f"{_KEY}{len(keys)}", direction))
            keys.append(values)
    by = pa.table(keys, names=[name for name, _ in directions])
    return rows.take(pc.sort_indices(by, sort_keys=directions))


def marked(metadata: TableMetadata, files: Iterable[DataFile]) -> Iterator[DataFile]:
    """Say of each file, whose rows are `in_order`, which sort order it has."""
    is_sorted = bool(sort_fields(metadata))
    for file in files:
        if is_sorted:
            file[_SORT_ORDER_ID] = metadata.default_sort_order_id
        yield file


def _keys(schema: Schema, field: SortField, rows: pa.Table) -> Iterator[tuple[pa.ChunkedArray | pa.Array, str]]:
    """Yield what to sort by for one field: where the nulls go, where NaN goes, the values."""
    source = schema.find_field(field.source_id)
    values = field.transform.pyarrow_transform(source.field_type)(rows[source.name])
    if isinstance(values.type, pa.BaseExtensionType):
        values = values.cast(values.type.storage_type)
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())  # Arrow sorts a table by no boolean.
    nulls = values.is_null()
    yield nulls.cast(pa.int8()), "descending" if field.null_order == NullOrder.NULLS_FIRST else "ascending"
    direction = "ascending" if field.direction == SortDirection.ASC else "descending"
    if pa.types.is_floating(values.type):
        yield pc.fill_null(pc.is_nan(values), False).cast(pa.int8()), direction  # NaN is above every number.
    yield values, direction
