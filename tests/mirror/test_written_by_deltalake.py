"""What delta-rs writes, its data and its statistics, as PyIceberg and DuckDB then read it.

The Iceberg tables are made here in the plainest way: what makes the mirror's snapshots is tested elsewhere.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import EqualTo
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.update import (
    AddPartitionSpecUpdate,
    AddSchemaUpdate,
    SetCurrentSchemaUpdate,
    SetDefaultSpecUpdate,
    SetPropertiesUpdate,
    TableUpdate,
)

from seriatim.mirror.delta.actions import Metadata
from seriatim.mirror.forms.data_files import data_file
from seriatim.mirror.forms.known import NAME_MAPPING
from seriatim.mirror.forms.schemas import Form, Known, form_of
from tests.engines.readers import duck, read_with_duckdb, read_with_pyiceberg
from tests.mirror.forms_support import add_of, log_lines, metadata_of

NAN = float("nan")
INF = float("inf")
UTC = dt.UTC
WHEN = dt.datetime(2021, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)
EARLY = dt.datetime(1960, 1, 1, 0, 0, 0, 123999, tzinfo=UTC)
COLUMNS: dict[str, pa.Array] = {
    "ts": pa.array([WHEN, EARLY]),
    "ntz": pa.array([WHEN.replace(tzinfo=None), EARLY.replace(tzinfo=None)]),
    "d10": pa.array([Decimal("1.10"), Decimal("12345678.35")], pa.decimal128(10, 2)),
    "d20": pa.array([Decimal("-99999999999999.999999"), Decimal("0.100001")], pa.decimal128(20, 6)),
    "d38": pa.array([Decimal("12345678901234567890.123456789"), Decimal("0.000000001")], pa.decimal128(38, 9)),
    "long text": pa.array(["a" * 100, "z" * 100]),
    "wide text": pa.array(["é" * 40, "😀" * 40]),
    "last text": pa.array(["\U0010ffff" * 40, "a"]),
    "odd text": pa.array(["", "\x7f"]),
    "f": pa.array([1.1, 0.7], pa.float32()),
    "g": pa.array([INF, -0.0]),
    "h": pa.array([-INF, 0.0]),
    "i8": pa.array([127, -128], pa.int8()),
    "l": pa.array([2**62 + 1, -(2**62) - 1]),
    "b": pa.array([b"\x00\xff", b"abc"]),
    "bo": pa.array([True, False]),
    "da": pa.array([dt.date(1500, 1, 1), dt.date(9999, 12, 31)]),
}
PARTITIONS: dict[str, Sequence[Any]] = {
    "ts": [WHEN, EARLY, None],
    "ntz": [WHEN.replace(tzinfo=None), EARLY.replace(tzinfo=None), None],
    "text": ["a/b%c=d&e é", "\\u0061", None],
    "double": [1.5, -0.25, None],
    "bool": [True, False, None],
    "date": [dt.date(1500, 1, 1), dt.date(9999, 12, 31), None],
    "long": [2**62, -1, None],
    "binary": [b"\x00\xffa", b"abc", None],
    "decimal": [Decimal("1.10"), Decimal("20.01"), None],
}


def mirrored(catalog: Catalog, root: Path) -> Table:
    """The versions of a Delta table as snapshots of an Iceberg table, in the plainest way."""
    identifier = "mirrors.t"
    known = Known.of(catalog.create_table(identifier, Schema()).metadata)
    live: dict[str, Any] = {}
    metadata: Metadata | None = None
    form: Form | None = None
    versions: dict[int, list[dict[str, Any]]] = {}
    for version, action in log_lines(root):
        versions.setdefault(version, []).append(action)
    for version, actions in versions.items():
        for action in (each["metaData"] for each in actions if "metaData" in each):
            metadata = metadata_of(action)
            form = form_of(str(root), version, metadata, known)
            reform(catalog, identifier, form, known)
            known = known.with_form(form)
        assert metadata is not None
        assert form is not None
        with (
            catalog.load_table(identifier).transaction() as transaction,
            transaction.update_snapshot().overwrite() as made,
        ):
            for gone in (each["remove"] for each in actions if "remove" in each):
                made.delete_data_file(live.pop(gone["path"]))
            for action in (each["add"] for each in actions if "add" in each):
                file = data_file(str(root), version, add_of(root, action), form, metadata, None)
                live[action["path"]] = file
                made.append_data_file(file)
    return catalog.load_table(identifier)


def reform(catalog: Catalog, identifier: str, form: Form, known: Known) -> None:
    """Give the table that form."""
    updates: list[TableUpdate] = [SetPropertiesUpdate(updates={NAME_MAPPING: form.name_mapping.model_dump_json()})]
    if form.schema not in known.schemas:
        updates.append(AddSchemaUpdate(schema_=form.schema))
    if form.spec not in known.specs:
        updates.append(AddPartitionSpecUpdate(spec=form.spec))
    updates += [
        SetCurrentSchemaUpdate(schema_id=form.schema.schema_id),
        SetDefaultSpecUpdate(spec_id=form.spec.spec_id),
    ]
    catalog.commit_table(catalog.load_table(identifier), (), tuple(updates))


def count_with_duckdb(table: Table, condition: str, *values: object) -> int:
    """The number of rows that DuckDB finds."""
    query = f"SELECT count(*) FROM iceberg_scan(?) WHERE {condition}"  # noqa: S608  # The tests' own.
    ((count,),) = duck().execute(query, [table.metadata_location, *values]).fetchall()
    return int(count)


@pytest.mark.parametrize("column", COLUMNS)
def test_every_value_is_found_by_an_equality(column: str, catalog: Catalog, tmp_path: Path) -> None:
    """Whatever delta-rs has put down as the least and the greatest."""
    values = COLUMNS[column]
    deltalake.write_deltalake(tmp_path / "d", pa.table({column: values}))
    table = mirrored(catalog, tmp_path / "d")

    for value in values.to_pylist():
        assert len(table.scan(row_filter=EqualTo(column, value)).to_arrow()) == 1, value
        assert count_with_duckdb(table, f'"{column}" = ?', value) == 1, value


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_a_nan_that_the_statistics_leave_out_is_not_ruled_out(
    kind: pa.DataType, catalog: Catalog, tmp_path: Path
) -> None:
    """To SQL engines it is above every number, so the file is opened.

    What PyArrow and DuckDB then rule out by the Parquet file's own statistics is lost without a mirror, too.
    """
    deltalake.write_deltalake(tmp_path / "d", pa.table({"x": pa.array([1.5, NAN], kind)}))
    table = mirrored(catalog, tmp_path / "d")

    for condition in ("x is nan", "x > 100"):
        assert len(list(table.scan(row_filter=condition).plan_files())) == 1, condition
    assert count_with_duckdb(table, "isnan(x)") == 1


def test_files_are_still_ruled_out(catalog: Catalog, tmp_path: Path) -> None:
    """Bounds that rule out nothing would lose no row either."""
    for low in (0, 100, 200):
        rows = {
            "i": range(low, low + 10),
            "s": [f"{low + n:05}" + "x" * 80 for n in range(10)],
            "t": [EARLY + dt.timedelta(days=low + n) for n in range(10)],
            "d": pa.array([Decimal(low + n) for n in range(10)], pa.decimal128(30, 2)),
        }
        deltalake.write_deltalake(tmp_path / "d", pa.table({k: pa.array(v) for k, v in rows.items()}), mode="append")
    table = mirrored(catalog, tmp_path / "d")

    conditions = [
        EqualTo("i", 105),
        EqualTo("s", "00105" + "x" * 80),
        EqualTo("t", EARLY + dt.timedelta(days=105)),
        EqualTo("d", Decimal("105.00")),
    ]
    assert [len(list(table.scan(row_filter=each).plan_files())) for each in conditions] == [1, 1, 1, 1]


@pytest.mark.parametrize("kind", PARTITIONS)
def test_partition_values_are_read_as_they_were_written(kind: str, catalog: Catalog, tmp_path: Path) -> None:
    """They are in the log alone: the file does not have the column."""
    values = PARTITIONS[kind]
    rows = pa.table({"p p": pa.array(values), "i": pa.array(range(len(values)))})
    deltalake.write_deltalake(tmp_path / "d", rows, partition_by=["p p"])
    table = mirrored(catalog, tmp_path / "d")
    snapshot = table.current_snapshot()
    assert snapshot is not None

    for read in (read_with_pyiceberg, read_with_duckdb):
        assert sorted(read(table, snapshot.snapshot_id).to_pylist(), key=lambda row: row["i"]) == rows.to_pylist()


def test_a_name_that_comes_again_with_another_type_is_read_right_at_both_times(
    catalog: Catalog, tmp_path: Path
) -> None:
    """It has one id, and each snapshot its own schema."""
    versions = [
        pa.table({"a": [1, 2], "x": [{"e": 1}, {"e": 2}]}),
        pa.table({"b": ["only"]}),
        pa.table({"a": ["one", "two"], "x": [["l"], ["m", "n"]]}),
    ]
    for rows in versions:
        deltalake.write_deltalake(tmp_path / "d", rows, mode="overwrite", schema_mode="overwrite")
    table = mirrored(catalog, tmp_path / "d")

    assert [table.schemas()[each].find_field("a").field_id for each in (1, 3)] == [1, 1]
    for read in (read_with_pyiceberg, read_with_duckdb):
        got = [read(table, each.snapshot_id).to_pylist() for each in table.snapshots()]
        assert got == [rows.to_pylist() for rows in versions]


def test_files_without_ids_are_read_by_name_after_columns_came_and_went(catalog: Catalog, tmp_path: Path) -> None:
    """The file of the first version has a column that the table has no longer, and lacks a new one."""
    deltalake.write_deltalake(tmp_path / "d", pa.table({"a": [1], "s": [{"x": 1}]}))
    grown = pa.table({"a": [2], "s": [{"x": 2, "y": [3]}], "new.one": ["n"]})
    deltalake.write_deltalake(tmp_path / "d", grown, mode="append", schema_mode="merge")
    table = mirrored(catalog, tmp_path / "d")
    snapshot = table.current_snapshot()
    assert snapshot is not None

    expected = [{"a": 1, "s": {"x": 1, "y": None}, "new.one": None}, *grown.to_pylist()]
    for read in (read_with_pyiceberg, read_with_duckdb):
        assert sorted(read(table, snapshot.snapshot_id).to_pylist(), key=lambda row: row["a"]) == expected


def test_ids_that_rows_brought_from_another_file_are_obeyed(catalog: Catalog, tmp_path: Path) -> None:
    """Rows that PyArrow read from Iceberg's Parquet, say: delta-rs puts their ids in the schema and in its files."""
    fields = [pa.field(name, pa.int64(), metadata={"PARQUET:field_id": str(n)}) for name, n in (("a", 2), ("b", 1))]
    rows = pa.Table.from_pylist([{"a": 1, "b": 2}], pa.schema(fields))
    deltalake.write_deltalake(tmp_path / "d", rows)
    table = mirrored(catalog, tmp_path / "d")
    snapshot = table.current_snapshot()
    assert snapshot is not None

    for read in (read_with_pyiceberg, read_with_duckdb):
        assert read(table, snapshot.snapshot_id).to_pylist() == [{"a": 1, "b": 2}]
