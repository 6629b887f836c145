"""A data file is read and written without PyIceberg's help only where that makes no difference."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
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

from seriatim.commit import private
from seriatim.commit.plain_files import read_plain, write_plain
from seriatim.system import new_id
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


TWO: Final = Schema(NestedField(1, "id", LongType()), NestedField(2, "bal", LongType()))


def the_task(table: Table) -> FileScanTask:
    """Return the task that reads the one data file."""
    (task,) = table.scan().plan_files()
    return task


def by_pyiceberg(table: Table, columns: Schema, task: FileScanTask) -> pa.Table:
    """Return the rows as PyIceberg reads them."""
    scan = ArrowScan(table.metadata, table.io, columns, AlwaysTrue())
    return scan.to_table([task])


def rows_of(schema: Schema) -> pa.Table:
    """Return two rows, the second with as many nulls as may be."""
    arrow = schema.as_arrow()
    columns = [
        _column(field, [value, None if field.nullable else value])
        for field, value in zip(arrow, VALUES.values(), strict=True)
    ]
    return pa.table(columns, schema=arrow)


def written(bank: Bank, schema: Schema) -> Table:
    """Return a table of one file, written by PyIceberg."""
    table = bank.create((), schema=schema).table()
    table.append(rows_of(schema))
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


def told(file: DataFile) -> list[Any]:
    """Return what PyIceberg says of a data file, but for its name."""
    return [dict(each) if isinstance(each, Mapping) else each for each in file._data[2:]]


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"write.metadata.metrics.default": "counts"},
        {"write.metadata.metrics.column.c12": "truncate(1)", "write.parquet.compression-codec": "gzip"},
        {"write.parquet.row-group-limit": "1", "write.parquet.page-row-limit": "1"},
        {"write.data.path": "elsewhere", "write.object-storage.enabled": "true"},
    ],
)
def test_a_file_of_every_type_is_written_as_pyiceberg_writes_it(empty_bank: Bank, properties: dict[str, str]) -> None:
    """With the same bytes, the same metrics, and in the place where the table wants it."""
    if "write.data.path" in properties:
        properties = {**properties, "write.data.path": f"file://{empty_bank.path}/elsewhere"}
    table = empty_bank.create((), schema=EVERY_TYPE, properties=properties).table()
    rows, file_id = rows_of(EVERY_TYPE), new_id()

    (ours,) = write_plain(table.metadata, table.io, rows, file_id) or []

    content = path_of(ours.file_path).read_bytes()
    (theirs,) = private.write_files(table.metadata, table.io, rows, file_id)
    assert ours.file_path == theirs.file_path
    assert content == path_of(theirs.file_path).read_bytes()
    assert told(ours) == told(theirs)


@pytest.mark.parametrize("transform", [IdentityTransform(), BucketTransform(4)])
def test_a_file_for_each_partition_is_written_as_pyiceberg_writes_it(
    empty_bank: Bank, transform: Transform[Any, Any]
) -> None:
    """The partition is in its path, and in what is said of it; a null is one, too."""
    spec = PartitionSpec(PartitionField(1, 1000, transform, "part"))
    table = empty_bank.create((), schema=TWO, spec=spec).table()
    rows = pa.table({"id": pa.array([1, 2, None, 1], pa.int64()), "bal": pa.array([1, 2, 3, 4], pa.int64())})
    rows, file_id = rows.cast(TWO.as_arrow()), new_id()

    ours = write_plain(table.metadata, table.io, rows, file_id)

    assert ours is not None
    contents = {file.file_path: path_of(file.file_path).read_bytes() for file in ours}
    theirs = list(private.write_files(table.metadata, table.io, rows, file_id))
    assert {file.file_path: path_of(file.file_path).read_bytes() for file in theirs} == contents
    assert [told(file) for file in ours] == [told(file) for file in theirs]
    assert len(contents) >= 2


PARTITIONS: Final[list[tuple[PrimitiveType, Transform[Any, Any]]]] = [
    *((type_, IdentityTransform()) for type_ in VALUES),
    *((type_, BucketTransform(4)) for type_ in (IntegerType(), LongType(), DateType(), StringType(), TimestampType())),
    *((type_, TruncateTransform(3)) for type_ in (IntegerType(), LongType(), StringType())),
    *((TimestampType(), transform()) for transform in (YearTransform, MonthTransform, DayTransform, HourTransform)),
    (DateType(), MonthTransform()),
]


def outcome(write: Callable[..., Iterable[DataFile] | None], table: Table, rows: pa.Table, file_id: str) -> Any:
    """Return what is written, or how it fails."""
    try:
        files = write(table.metadata, table.io, rows, file_id) or ()
        return [(file.file_path, path_of(file.file_path).read_bytes(), told(file)) for file in files]
    except Exception as err:  # noqa: BLE001  # Compared with another one.
        return type(err)


@pytest.mark.parametrize(("type_", "transform"), PARTITIONS, ids=lambda each: str(each).replace("[", "-").rstrip("]"))
def test_rows_of_one_partition_are_written_as_pyiceberg_writes_them(
    empty_bank: Bank, type_: PrimitiveType, transform: Transform[Any, Any]
) -> None:
    """In whatever chunks they come, beside a second column that the table is partitioned by; what fails, fails."""
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "of", type_))
    spec = PartitionSpec(
        PartitionField(2, 1000, transform, "part"), PartitionField(1, 1001, IdentityTransform(), "number")
    )
    table = empty_bank.create((), schema=schema, spec=spec).table()

    for value in (VALUES[type_], None):
        row = pa.Table.from_pylist([{"id": 7, "of": value}], schema=schema.as_arrow())
        rows, file_id = pa.concat_tables([row, row, row]), new_id()

        theirs = outcome(private.write_files, table, rows, file_id)

        assert outcome(write_plain, table, rows, file_id) == theirs


def test_rows_of_one_partition_that_come_in_many_chunks_are_one(empty_bank: Bank) -> None:
    """A page does not end where a chunk does."""
    schema = Schema(*TWO.fields, NestedField(3, "rate", DoubleType()))
    table = empty_bank.create((), schema=schema, spec=PARTITIONED).table()
    count, size, file_id = 500_000, 300, new_id()
    numbers = pa.array(range(count), pa.int64())
    columns = [pa.repeat(pa.scalar(7, pa.int64()), count), numbers, pc.random(count, initializer=1)]
    whole = pa.Table.from_arrays(columns, schema=schema.as_arrow())
    rows = pa.concat_tables([whole.slice(first, size) for first in range(0, count, size)])

    theirs = outcome(private.write_files, table, rows, file_id)

    assert outcome(write_plain, table, rows, file_id) == theirs


PARTITIONED: Final = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id"))
TWO_ROWS: Final = [{"id": 1, "bal": 1}, {"id": 2, "bal": 2}]


@pytest.mark.parametrize(
    ("spec", "properties", "schema", "given"),
    [
        (PARTITIONED, {}, TWO, [{"id": number, "bal": number} for number in range(5)]),
        (UNPARTITIONED_PARTITION_SPEC, {"write.target-file-size-bytes": "20"}, TWO, TWO_ROWS),
        (UNPARTITIONED_PARTITION_SPEC, {}, TWO, []),
        (UNPARTITIONED_PARTITION_SPEC, {}, Schema(NestedField(1, "a b", LongType())), [{"a b": 1}]),
        (UNPARTITIONED_PARTITION_SPEC, {}, Schema(NestedField(1, "a", ListType(2, LongType()))), [{"a": [1]}]),
    ],
    ids=["many partitions", "several files", "no rows", "a name with a blank", "a list"],
)
def test_what_takes_more_is_left_to_pyiceberg(
    empty_bank: Bank, spec: PartitionSpec, properties: dict[str, str], schema: Schema, given: list[dict[str, Any]]
) -> None:
    """And nothing is written."""
    table = empty_bank.create((), schema=schema, spec=spec, properties=properties).table()
    rows = pa.Table.from_pylist(given, schema=schema.as_arrow())

    assert write_plain(table.metadata, table.io, rows, new_id()) is None
    assert list(empty_bank.path.rglob("*.parquet")) == []


def test_rows_of_another_schema_are_left_to_pyiceberg(bank: Bank) -> None:
    """Another width, or a column that may be null where the table's may not."""
    table = bank.table()
    narrow = pa.table({"id": pa.array([1], pa.int32()), "bal": pa.array([1], pa.int64())})

    assert write_plain(table.metadata, table.io, narrow, new_id()) is None
