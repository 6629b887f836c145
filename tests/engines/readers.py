"""How other engines read a snapshot of a table, without a catalog and without the network."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import Table

Read = Callable[[Table, int], pa.Table]
EXTENSIONS = ("avro", "iceberg")  # In this order: the second needs the first.


def read_with_pyiceberg(table: Table, snapshot_id: int) -> pa.Table:
    """Return the rows as PyIceberg has them."""
    return table.scan(snapshot_id=snapshot_id).to_arrow()


def read_with_duckdb(table: Table, snapshot_id: int) -> pa.Table:
    """Return the rows as DuckDB has them, which reads the metadata file by itself."""
    query = "SELECT * FROM iceberg_scan(?, snapshot_from_id = ?)"
    return duck().execute(query, [table.metadata_location, snapshot_id]).to_arrow_table()


def read_with_polars(table: Table, snapshot_id: int) -> pa.Table:
    """Return the rows as Polars has them; PyIceberg plans its scan."""
    polars = pytest.importorskip("polars")
    rows: pa.Table = polars.scan_iceberg(table, snapshot_id=snapshot_id).collect().to_arrow()
    return rows


READERS: dict[str, Read] = {
    "PyIceberg": read_with_pyiceberg,
    "DuckDB": read_with_duckdb,
    "Polars": read_with_polars,
}


@cache
def duck() -> Any:
    """Return a DuckDB with the Iceberg extension that is installed; the test is skipped where none is."""
    duckdb = pytest.importorskip("duckdb", reason="no DuckDB for this platform")
    connection = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
    for name in EXTENSIONS:
        package = pytest.importorskip(f"duckdb_extension_{name}", reason=f"no {name} extension for this platform")
        (extension,) = Path(str(importlib.import_module(package.__name__).__file__)).parent.rglob("*.duckdb_extension")
        connection.execute(f"LOAD '{extension}'")
    return connection
