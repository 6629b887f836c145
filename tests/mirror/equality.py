"""The oracle of the mirror: what deltalake reads of a Delta table, against what Iceberg's readers read of it."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from pyiceberg.table import Table

_ROWS_MAX = 20_000  # that are compared as Python values; more are compared in Arrow


def delta_table(table: DeltaTable) -> pa.Table:
    """Return the rows of a Delta table, as it is opened, as deltalake reads them."""
    names = [field.name for field in table.schema().fields]
    if not names:
        return pa.table({})
    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    reader = QueryBuilder().register("t", table).execute(f"SELECT {columns} FROM t")  # noqa: S608  # Quoted above.
    return pa.table(reader.read_all())


def iceberg_table(table: Table, snapshot_id: int) -> pa.Table:
    """Return the rows of a snapshot as PyIceberg reads them.

    By batches: PyIceberg's `to_arrow` cannot put together what delta-rs wrote as `string_view` and as `string`.
    """
    return table.scan(snapshot_id=snapshot_id).to_arrow_batch_reader().read_all()


def delta_rows(source: str, version: int) -> Counter[str]:
    """Return the rows of a Delta version as deltalake reads them, each with how often it occurs."""
    return counted(delta_table(DeltaTable(source, version=version)))


def iceberg_rows(table: Table, snapshot_id: int) -> Counter[str]:
    """Return the rows of a snapshot as PyIceberg reads them, each with how often it occurs."""
    return counted(iceberg_table(table, snapshot_id))


def require_same_rows(found: pa.Table, wanted: pa.Table) -> None:
    """Pass only the same columns and the same rows, in whatever order."""
    assert found.column_names == wanted.column_names
    assert found.num_rows == wanted.num_rows
    if wanted.num_rows > _ROWS_MAX:
        assert _in_order(found, wanted.schema).equals(_in_order(wanted, wanted.schema))
    else:
        missing, more = counted(wanted) - counted(found), counted(found) - counted(wanted)
        assert (missing, more) == (Counter(), Counter())


def counted(rows: pa.Table) -> Counter[str]:
    """Return rows in a form that is the same whichever engine they come from."""
    return Counter(repr(_plain(row)) for row in rows.to_pylist())


def _in_order(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    plain = pa.schema([(field.name, pa.string() if _is_text(field.type) else field.type) for field in schema])
    return rows.cast(plain).sort_by([(name, "ascending") for name in plain.names]).combine_chunks()


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_string_view(type_) or pa.types.is_large_string(type_))


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case tuple():
            return tuple(_plain(each) for each in value)
        case float() if math.isnan(value):
            return "NaN"
        case _ if hasattr(value, "timestamp"):
            return value.isoformat()
        case _:
            return value
