"""The metrics of each column in a file that we wrote: complete as the table wants them, and right."""

from __future__ import annotations

import math
import struct
import uuid
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from seriatim.commit import Append, Rewrite
from tests.contract.apply_support import call
from tests.faults.avro_files import Fields, Written, as_mapping
from tests.faults.bank import Bank

SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "int", IntegerType()),
    NestedField(3, "float", FloatType()),
    NestedField(4, "double", DoubleType()),
    NestedField(5, "string", StringType()),
    NestedField(6, "binary", BinaryType()),
    NestedField(7, "date", DateType()),
    NestedField(8, "time", TimeType()),
    NestedField(9, "timestamp", TimestampType()),
    NestedField(10, "timestamptz", TimestamptzType()),
    NestedField(11, "bool", BooleanType()),
    NestedField(12, "decimal", DecimalType(9, 2)),
    NestedField(13, "wide_decimal", DecimalType(38, 2)),
    NestedField(14, "uuid", UUIDType()),
    NestedField(15, "list", ListType(16, DoubleType())),
)
NAN = math.nan
ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "int": -5,
        "float": NAN,
        "double": NAN,
        "string": "a" * 40,
        "binary": b"\x01" * 40,
        "date": date(1969, 12, 31),
        "time": time(0, 0, 1),
        "timestamp": datetime(1969, 1, 1),  # noqa: DTZ001  (An Iceberg timestamp without a zone.)
        "timestamptz": datetime(1993, 1, 1, tzinfo=UTC),
        "bool": False,
        "decimal": Decimal("-1.50"),
        "wide_decimal": Decimal("-123456789012345678901234.50"),
        "uuid": uuid.UUID(int=1).bytes,
        "list": [1.0, NAN],
    },
    {
        "id": 2,
        "int": 7,
        "float": 1.5,
        "double": -2.5,
        "string": "é" * 40,
        "binary": b"\xff" * 40,
        "date": date(1993, 1, 1),
        "time": time(23, 59),
        "timestamp": datetime(1993, 1, 1),  # noqa: DTZ001  (As above.)
        "timestamptz": datetime(1994, 1, 1, tzinfo=UTC),
        "bool": True,
        "decimal": Decimal("2.25"),
        "wide_decimal": Decimal("2.25"),
        "uuid": uuid.UUID(int=2**127).bytes,
        "list": [],
    },
    {"id": 3, "double": 4.0},
]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _micros(value: datetime) -> int:
    return round((value.replace(tzinfo=UTC) - EPOCH).total_seconds() * 1_000_000)


def _unscaled(value: str) -> bytes:
    number = int(Decimal(value).scaleb(2))
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)


FULL: Mapping[int, tuple[bytes, bytes]] = {
    1: (struct.pack("<q", 1), struct.pack("<q", 3)),
    2: (struct.pack("<i", -5), struct.pack("<i", 7)),
    3: (struct.pack("<f", 1.5), struct.pack("<f", 1.5)),
    4: (struct.pack("<d", -2.5), struct.pack("<d", 4.0)),
    5: (b"a" * 40, "é".encode() * 40),
    6: (b"\x01" * 40, b"\xff" * 40),
    7: (struct.pack("<i", -1), struct.pack("<i", 8401)),
    8: (struct.pack("<q", 1_000_000), struct.pack("<q", 86_340_000_000)),
    9: tuple(struct.pack("<q", _micros(ROWS[n]["timestamp"])) for n in (0, 1)),  # type: ignore[dict-item]  # Two.
    10: tuple(struct.pack("<q", _micros(ROWS[n]["timestamptz"])) for n in (0, 1)),  # type: ignore[dict-item]  # Two.
    11: (b"\x00", b"\x01"),
    12: (_unscaled("-1.50"), _unscaled("2.25")),
    13: (_unscaled("-123456789012345678901234.50"), _unscaled("2.25")),
    14: (uuid.UUID(int=1).bytes, uuid.UUID(int=2**127).bytes),
}
TRUNCATED = {
    **FULL,
    5: (b"a" * 16, ("é" * 15 + "ê").encode()),
    6: (b"\x01" * 16, None),  # Nothing of that length is above it.
}
COLUMNS = range(1, 15)


def test_every_column_has_its_counts_and_bounds(empty_bank: Bank) -> None:
    """By default: bounds cut off at 16 characters or bytes, the upper one rounded up."""
    file = _only_file(_create(empty_bank, {}))

    _check_counts(file, COLUMNS)
    _check_bounds(file, TRUNCATED)


def test_bounds_are_whole_where_the_table_says_so(empty_bank: Bank) -> None:
    """`full`: a reader can answer min and max from them."""
    file = _only_file(_create(empty_bank, {"write.metadata.metrics.default": "full"}))

    _check_counts(file, COLUMNS)
    _check_bounds(file, FULL)


def test_columns_have_what_the_table_says_of_each(empty_bank: Bank) -> None:
    """Counts alone, nothing at all, another length."""
    properties = {
        "write.metadata.metrics.default": "none",
        "write.metadata.metrics.column.double": "counts",
        "write.metadata.metrics.column.string": "truncate(3)",
    }

    file = _only_file(_create(empty_bank, properties))

    _check_counts(file, [4, 5])
    _check_bounds(file, {5: (b"aaa", "ééê".encode())})


def test_each_file_has_its_own_metrics(empty_bank: Bank) -> None:
    """NaN is counted for each file where a commit writes several, and so it is for what is left of a file."""
    spec = PartitionSpec(PartitionField(1, 1000, BucketTransform(4), "id_bucket"))
    bank = _create(empty_bank, {}, spec=spec)
    rows = [{"id": id_, "double": NAN if id_ % 3 == 0 else float(id_)} for id_ in range(40)]
    call(bank, lambda base: Append(_arrow(bank, rows)))
    call(bank, lambda base: Rewrite(_arrow(bank, [{"id": 3, "double": 3.0}, {"id": 4, "double": NAN}]), keys="id"))

    files = [entry.file for entry in Written.at(bank.table().metadata_location).head().live.values()]

    assert len(files) == 4
    counts = {next(iter(file["partition"].values())): as_mapping(file["nan_value_counts"])[4] for file in files}
    found: dict[int, int] = dict.fromkeys(counts, 0)
    for row in bank.table().scan().to_arrow().to_pylist():
        bucket = BucketTransform(4).transform(LongType())(row["id"])
        assert bucket is not None
        found[bucket] += row["double"] is not None and math.isnan(row["double"])
    assert counts == found
    assert sum(counts.values()) == 14


def test_a_file_of_nan_alone_has_no_bounds(empty_bank: Bank) -> None:
    """NaN is no bound: a reader that compares with it would skip rows, or none."""
    bank = _create(empty_bank, {}, rows=[{"id": 1, "double": NAN}, {"id": 2, "double": NAN}])

    file = _only_file(bank)

    assert 4 not in as_mapping(file["lower_bounds"])
    assert 4 not in as_mapping(file["upper_bounds"])
    assert as_mapping(file["nan_value_counts"])[4] == 2
    assert bank.table().scan(row_filter="double is nan").to_arrow().num_rows == 2


def _create(
    bank: Bank,
    properties: Mapping[str, str],
    *,
    rows: list[dict[str, Any]] = ROWS,
    spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
) -> Bank:
    bank.create((), schema=SCHEMA, spec=spec, properties=properties)
    if spec.is_unpartitioned():
        call(bank, lambda base: Append(_arrow(bank, rows)))
    return bank


def _arrow(bank: Bank, rows: list[dict[str, Any]]) -> pa.Table:
    schema = bank.table().schema().as_arrow()
    return pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema=schema)


def _only_file(bank: Bank) -> Fields:
    (entry,) = Written.at(bank.table().metadata_location).head().live.values()
    return entry.file


def _check_counts(file: Fields, columns: Any) -> None:
    names = {field.field_id: field.name for field in SCHEMA.fields}
    values = {id_: [row.get(names[id_]) for row in ROWS] for id_ in columns}
    counted = {key: as_mapping(file[key]) for key in ("value_counts", "null_value_counts", "nan_value_counts")}
    for id_ in columns:
        assert counted["value_counts"][id_] == len(ROWS)
        assert counted["null_value_counts"][id_] == values[id_].count(None)
    nans = {id_: sum(value != value for value in values[id_]) for id_ in columns if id_ in (3, 4)}
    assert {id_: count for id_, count in counted["nan_value_counts"].items() if id_ < 15} == nans
    assert set(columns) == {id_ for id_ in counted["value_counts"] if id_ < 15}


def _check_bounds(file: Fields, expected: Mapping[int, tuple[bytes | None, bytes | None]]) -> None:
    lower, upper = as_mapping(file["lower_bounds"]), as_mapping(file["upper_bounds"])
    ids = {*lower, *upper} | set(expected)
    assert {id_: (lower.get(id_), upper.get(id_)) for id_ in ids if id_ < 15} == dict(expected)
