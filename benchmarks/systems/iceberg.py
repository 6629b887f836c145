"""The table that all systems on Iceberg share: one row, in a catalog of PyIceberg's on SQLite."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlparse

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.typedef import EMPTY_DICT
from pyiceberg.types import LongType, NestedField

TABLE: Final = "bench.account"
SCHEMA: Final = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "bal", LongType(), required=True),
)


def open_catalog(folder: Path) -> SqlCatalog:
    """Open the catalog of a folder; it is made if it is not there."""
    uri, warehouse = f"sqlite:///{folder}/catalog.db?timeout=60", f"file://{folder}/warehouse"
    return SqlCatalog("bench", uri=uri, warehouse=warehouse)


def create_table(
    folder: Path,
    *,
    rows: int = 1,
    spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
    properties: Mapping[str, str] = EMPTY_DICT,
) -> None:
    """Make the table, with rows of the ids from 1 up and balances of 0."""
    catalog = open_catalog(folder)
    catalog.create_namespace("bench")
    table = catalog.create_table(TABLE, SCHEMA, partition_spec=spec, properties=dict(properties))
    table.append(rows_of(dict.fromkeys(range(1, rows + 1), 0)))
    catalog.engine.dispose()


def rows_of(balances: Mapping[int, int]) -> pa.Table:
    """Return rows of the table."""
    arrays = [pa.array(balances.keys(), pa.int64()), pa.array(balances.values(), pa.int64())]
    return pa.Table.from_arrays(arrays, schema=SCHEMA.as_arrow())


def total(table: Table) -> int:
    """Return the sum of the balances."""
    return sum(table.scan().to_arrow()["bal"].to_pylist())


def orphans_of(folder: Path, written: int) -> int:
    """Return how many data files there are beyond those that were written by commits; no system here deletes any."""
    return sum(1 for _ in (folder / "warehouse").rglob("data/**/*.parquet")) - written


def local(location: str) -> Path:
    """Return the path of a `file:` location."""
    return Path(unquote(urlparse(location).path))
