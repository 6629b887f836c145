"""How engines read the files of a table under column mapping, by the ids that are in the files or by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from seriatim.mirror.delta.actions import AddFile
from seriatim.mirror.forms.data_files import data_file
from seriatim.mirror.forms.schemas import Known, form_of
from tests.engines.readers import read_with_duckdb, read_with_pyiceberg
from tests.mirror.forms_support import LONG, MAPPED, SOURCE, mapped, struct, table
from tests.mirror.test_written_by_deltalake import reform

METADATA = table(
    mapped("a", "col-a", 3, "long"),
    mapped("col-a", "a", 4, struct(mapped("x", "col-x", 5, "string"))),  # Names that were swapped.
    mapped("l", "col-l", 6, LONG, **{"delta.columnMapping.nested.ids": {"col-l.element": 7}}),
    configuration=MAPPED,
)
STORED = {"col-a": 1, "a": {"col-x": "s"}, "col-l": [2, 3]}
LOGICAL = {"a": 1, "col-a": {"x": "s"}, "l": [2, 3]}


def stored(name: str, kind: pa.DataType, field_id: int | None) -> pa.Field:
    """A field of a Parquet file, with its id if it has one."""
    return pa.field(name, kind, metadata=None if field_id is None else {"PARQUET:field_id": str(field_id)})


def schema(a: int | None, inner: int | None) -> pa.Schema:
    """The schema of a file with ids on its columns (`a`: that of the first) and within its list (`inner`)."""
    ids: list[int | None] = [None] * 3 if a is None else [4, 5, 6]
    return pa.schema(
        [
            stored("col-a", pa.int64(), a),
            stored("a", pa.struct([stored("col-x", pa.string(), ids[1])]), ids[0]),
            stored("col-l", pa.list_(stored("element", pa.int64(), inner)), ids[2]),
        ]
    )


def table_on(parquet_schema: pa.Schema, folder: Path) -> Table:
    """An Iceberg table on one file with that schema."""
    path = folder / "f.parquet"
    pq.write_table(pa.Table.from_pylist([STORED], parquet_schema), path)
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}/ice")
    catalog.create_namespace("n")
    known = Known.of(catalog.create_table("n.t", Schema()).metadata)
    form = form_of(SOURCE, 0, METADATA, known)
    reform(catalog, "n.t", form, known)
    add = AddFile(f"file://{path}", {}, path.stat().st_size, True, stats={"numRecords": 1})
    made = catalog.load_table("n.t")
    with made.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(data_file(SOURCE, 0, add, form, METADATA, None))
    found = catalog.load_table("n.t")
    catalog.close()
    return found


def read(made: Table) -> list[list[dict[str, Any]]]:
    """The rows as PyIceberg and as DuckDB have them."""
    snapshot = made.current_snapshot()
    assert snapshot is not None
    return [each(made, snapshot.snapshot_id).to_pylist() for each in (read_with_pyiceberg, read_with_duckdb)]


@pytest.mark.parametrize(("a", "inner"), [(3, 7), (None, None)], ids=["with ids", "without ids"])
def test_files_with_all_ids_or_none_are_read_right(a: int | None, inner: int | None, tmp_path: Path) -> None:
    """Those of before the column mapping have none, and are read by physical name."""
    assert read(table_on(schema(a, inner), tmp_path)) == [[LOGICAL], [LOGICAL]]


def test_duckdb_reads_null_for_elements_without_ids_beside_columns_with_ids(tmp_path: Path) -> None:
    """The reason to refuse a mapped list without nested ids; once this fails, the refusal may go."""
    with_pyiceberg, with_duckdb = read(table_on(schema(3, None), tmp_path))

    assert with_pyiceberg == [LOGICAL]
    assert with_duckdb == [{**LOGICAL, "l": [None, None]}]
