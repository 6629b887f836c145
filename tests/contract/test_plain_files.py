"""A data file is read without PyIceberg's help only where that makes no difference."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from seriatim.commit.plain_files import read_plain
from tests.faults.avro_files import path_of
from tests.faults.bank import Bank

VALUES: Final[dict[PrimitiveType, Any]] = {
    BooleanType(): True,
    IntegerType(): 1,
    LongType(): 2,
    FloatType(): 1.5,
    DoubleType(): 2.5,
    DecimalType(9, 2): Decimal("1.25"),
    DecimalType(38, 3): Decimal("1.125"),
    DateType(): dt.date(2020, 2, 29),
    TimeType(): dt.time(1, 2, 3, 4),
    TimestampType(): dt.datetime(2020, 1, 1, 1),  # noqa: DTZ001  # That is what it is.
    TimestamptzType(): dt.datetime(2020, 1, 1, 1, tzinfo=dt.UTC),
    StringType(): "één",
    UUIDType(): UUID(int=5).bytes,
    BinaryType(): b"\x00\xff",
    FixedType(4): b"abcd",
}
EVERY_TYPE: Final = Schema(
    *(NestedField(number, f"c{number}", type_, required=number % 2 == 0) for number, type_ in enumerate(VALUES, 1))
)


def the_task(table: Table) -> FileScanTask:
    """Return the task that reads the one data file."""
    (task,) = table.scan().plan_files()
    return task


def by_pyiceberg(table: Table, columns: Schema, task: FileScanTask) -> pa.Table:
    """Return the rows as PyIceberg reads them."""
    scan = ArrowScan(table.metadata, table.io, columns, AlwaysTrue())
    return scan.to_table([task])


def written(bank: Bank, schema: Schema) -> Table:
    """Return a table of one file with two rows, the second with as many nulls as may be."""
    table = bank.create((), schema=schema).table()
    arrow = schema.as_arrow()
    columns = [
        _column(field, [value, None if field.nullable else value])
        for field, value in zip(arrow, VALUES.values(), strict=True)
    ]
    table.append(pa.table(columns, schema=arrow))
    return table


def _column(field: pa.Field, values: list[Any]) -> pa.Array:
    if isinstance(field.type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(field.type, pa.array(values, field.type.storage_type))
    return pa.array(values, field.type)


@pytest.mark.parametrize("names", [[f"c{number}" for number in range(1, len(VALUES) + 1)], ["c12", "c2"]])
def test_columns_of_every_type_are_read_as_pyiceberg_reads_them(empty_bank: Bank, names: list[str]) -> None:
    """To the last property of each type, nulls and all."""
    table = written(empty_bank, EVERY_TYPE)
    columns = EVERY_TYPE.select(*names)
    task = the_task(table)

    rows = read_plain(table.io, columns, task.file)

    assert rows is not None
    wanted = by_pyiceberg(table, columns, task)
    assert rows.schema.equals(wanted.schema, check_metadata=True)
    assert rows.equals(wanted)


def _rename(table: Table) -> None:
    with table.update_schema() as update:
        update.rename_column("bal", "amount")


def _swap_names(table: Table) -> None:
    with table.update_schema() as update:
        update.rename_column("id", "was_id")
    with table.update_schema() as update:
        update.rename_column("bal", "id")


def _add(table: Table) -> None:
    with table.update_schema() as update:
        update.add_column("note", StringType())


def _replace(table: Table) -> None:
    with table.update_schema() as update:
        update.delete_column("bal")
    with table.update_schema() as update:
        update.add_column("bal", LongType())


def _widen(table: Table) -> None:
    with table.update_schema() as update:
        update.update_column("bal", LongType())


@pytest.mark.parametrize("change", [_rename, _swap_names, _add, _replace, _widen])
def test_a_file_of_another_schema_is_left_to_pyiceberg(empty_bank: Bank, change: Callable[[Table], None]) -> None:
    """Another name, another field of that name, another width, or no such column."""
    schema = Schema(NestedField(1, "id", IntegerType()), NestedField(2, "bal", IntegerType()))
    table = empty_bank.create([{"id": 1, "bal": 2}], schema=schema).table()
    change(table)
    table = empty_bank.table()

    assert read_plain(table.io, table.schema(), the_task(table).file) is None


def test_a_column_with_columns_inside_is_left_to_pyiceberg(empty_bank: Bank) -> None:
    """Whether those are the same is not looked at here."""
    inner = StructType(NestedField(3, "x", LongType()))
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "bal", ListType(4, inner)))
    table = empty_bank.create([{"id": 1, "bal": [{"x": 2}]}], schema=schema).table()
    file = the_task(table).file

    assert read_plain(table.io, table.schema(), file) is None
    assert read_plain(table.io, table.schema().select("id"), file) is not None


def test_a_file_that_names_no_fields_is_left_to_pyiceberg(bank: Bank) -> None:
    """Its columns are told by the table's name mapping."""
    table = bank.table()
    file = the_task(table).file
    plain = pa.table({"id": pa.array([1], pa.int64()), "bal": pa.array([100], pa.int64())})
    pq.write_table(plain, path_of(file.file_path))

    assert read_plain(table.io, table.schema(), file) is None


def test_a_file_that_is_gone_is_an_error(bank: Bank) -> None:
    """And no empty one."""
    table = bank.table()
    file = the_task(table).file
    path_of(file.file_path).unlink()

    with pytest.raises(FileNotFoundError):
        read_plain(table.io, table.schema(), file)
