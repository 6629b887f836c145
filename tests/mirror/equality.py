"""The oracle of the mirror: what deltalake reads of a Delta table, against what Iceberg's readers make of its mirror."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from pyiceberg.table import Table


def delta_rows(source: str, version: int) -> Counter[str]:
    """Return the rows of a Delta version as deltalake reads them, each with how often it occurs."""
    table = DeltaTable(source, version=version)
    names = [field.name for field in table.schema().fields]
    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    reader = QueryBuilder().register("t", table).execute(f"SELECT {columns} FROM t")
    return counted(pa.table(reader.read_all()))


def iceberg_rows(table: Table, snapshot_id: int) -> Counter[str]:
    """Return the rows of a snapshot as PyIceberg reads them.

    By batches: PyIceberg's `to_arrow` cannot put together what delta-rs wrote as `string_view` and as `string`.
    """
    return counted(table.scan(snapshot_id=snapshot_id).to_arrow_batch_reader().read_all())


def counted(rows: pa.Table) -> Counter[str]:
    """Return rows in a form that is the same whichever engine they come from."""
    return Counter(repr(_plain(row)) for row in rows.to_pylist())


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
