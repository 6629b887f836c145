"""Files of a table with a sort order: rows really in order, and the file says so."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, Transform, TruncateTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    LongType,
    NestedField,
    StringType,
    StructType,
)

from seriatim.commit import Append, Rewrite
from tests.contract.apply_support import call
from tests.faults.avro_files import Status, Written, path_of
from tests.faults.bank import Bank

SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "name", StringType()),
    NestedField(3, "amount", DoubleType()),
    NestedField(4, "day", DateType()),
    NestedField(5, "is_open", BooleanType()),
    NestedField(6, "price", DecimalType(9, 2)),
    NestedField(7, "code", BinaryType()),
    NestedField(8, "place", StructType(NestedField(9, "zip", LongType()))),
)
VALUES: dict[str, list[Any]] = {
    "name": ["", "a", "Z", "Ä", "zz"],
    "amount": [-math.inf, -1.5, 0.0, 2.5, math.inf, math.nan],
    "day": [date(1993, 1, 1) + timedelta(days) for days in range(3)],
    "is_open": [True, False],
    "price": [Decimal("-1.50"), Decimal("0.00"), Decimal("99.99")],
    "code": [b"", b"\x00", b"\x7f", b"\xff"],
    "place": [{"zip": 1}, {"zip": 2}],
}
ASC, DESC = SortDirection.ASC, SortDirection.DESC
FIRST, LAST = NullOrder.NULLS_FIRST, NullOrder.NULLS_LAST
IDENTITY: Transform[Any, Any] = IdentityTransform()


@pytest.mark.parametrize("nulls", [FIRST, LAST], ids=lambda nulls: nulls.name)
@pytest.mark.parametrize("direction", [ASC, DESC], ids=lambda direction: direction.name)
@pytest.mark.parametrize("name", ["name", "amount", "day", "is_open", "price", "code"])
def test_rows_are_in_the_order_of_the_table(
    empty_bank: Bank, name: str, direction: SortDirection, nulls: NullOrder
) -> None:
    """NULLs where the order wants them, NaN above every number, and among equals what was there before."""
    field = SCHEMA.find_field(name)
    bank = _create(empty_bank, SortField(field.field_id, IDENTITY, direction=direction, null_order=nulls))

    call(bank, lambda base: Append(_rows(bank, 60)))

    ((path, order_id),) = _written(bank)
    assert order_id == bank.table().metadata.default_sort_order_id == 1
    values = [row[name] for row in pq.read_table(path).to_pylist()]
    assert len(values) == 60
    assert repr(values) == repr(_in_order(values, direction, nulls))


@pytest.mark.parametrize(
    ("transform", "name", "by"),
    [
        (TruncateTransform(1), "name", lambda value: value[:1]),
        (DayTransform(), "day", lambda value: value),
        (BucketTransform(4), "id", BucketTransform(4).transform(LongType())),
    ],
)
def test_rows_are_in_the_order_of_a_transform(
    empty_bank: Bank, transform: Transform[Any, Any], name: str, by: Callable[[Any], Any]
) -> None:
    """A second field orders what the first leaves equal."""
    first = SortField(SCHEMA.find_field(name).field_id, transform, direction=DESC, null_order=LAST)
    bank = _create(empty_bank, first, SortField(1, IDENTITY, direction=ASC, null_order=FIRST))

    call(bank, lambda base: Append(_rows(bank, 60)))

    ((path, _),) = _written(bank)
    rows = pq.read_table(path).to_pylist()
    present = sorted((row for row in rows if row[name] is not None), key=lambda row: row["id"])
    absent = sorted((row for row in rows if row[name] is None), key=lambda row: row["id"])
    present.sort(key=lambda row: _bytes(by(row[name])), reverse=True)
    assert [row["id"] for row in rows] == [row["id"] for row in (*present, *absent)]


def test_every_file_of_a_partitioned_table_is_in_order(empty_bank: Bank) -> None:
    """Also one with many rows, which is written in pieces, and one that holds what is left of others."""
    spec = PartitionSpec(PartitionField(1, 1000, BucketTransform(2), "id_bucket"))
    bank = _create(empty_bank, SortField(1, IDENTITY, direction=DESC, null_order=LAST), spec=spec)

    call(bank, lambda base: Append(_rows(bank, 150_000)))
    call(bank, lambda base: Rewrite(_rows(bank, 20_000), keys="id"))

    files = _written(bank)
    assert len(files) == 2
    assert {order_id for _, order_id in files} == {1}
    for path, _ in files:
        ids = pq.read_table(path, columns=["id"])["id"].to_pylist()
        assert ids == sorted(ids, reverse=True)
    assert sum(pq.read_metadata(path).num_rows for path, _ in files) == 150_000


def test_a_table_that_is_not_sorted_keeps_the_order_of_its_rows(empty_bank: Bank) -> None:
    """And its files claim no order."""
    bank = _create(empty_bank)

    call(bank, lambda base: Append(_rows(bank, 60)))

    ((path, order_id),) = _written(bank)
    assert order_id in (None, 0)
    assert pq.read_table(path)["id"].to_pylist() == _rows(bank, 60)["id"].to_pylist()


def test_a_file_claims_no_order_where_the_table_sorts_by_a_nested_column(empty_bank: Bank) -> None:
    """That is not followed; to claim it would make readers skip the sorting they need."""
    bank = _create(empty_bank, SortField(9, IDENTITY, direction=ASC, null_order=FIRST))

    call(bank, lambda base: Append(_rows(bank, 20)))

    ((_, order_id),) = _written(bank)
    assert order_id in (None, 0)


def _create(bank: Bank, *fields: SortField, spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC) -> Bank:
    with bank.rival() as catalog:
        catalog.create_namespace("bank")
        order = SortOrder(*fields, order_id=1 if fields else 0)
        catalog.create_table(bank.identifier, SCHEMA, partition_spec=spec, sort_order=order)
    return bank


def _rows(bank: Bank, count: int) -> pa.Table:
    chance = random.Random(count)
    ids = list(range(count))
    chance.shuffle(ids)
    drawn = {name: [chance.choice([None, *values]) for _ in ids] for name, values in VALUES.items()}
    return pa.table({"id": ids, **drawn}, schema=bank.table().schema().as_arrow())


def _written(bank: Bank) -> list[tuple[Any, int | None]]:
    """Return the path and the sort order of each file that the newest snapshot added."""
    head = Written.at(bank.table().metadata_location).head()
    entries = [entry for manifest in head.manifests for entry in manifest.entries]
    return [
        (path_of(entry.path), entry.file["sort_order_id"])
        for entry in entries
        if entry.status is Status.ADDED and entry.snapshot_id == head.id
    ]


def _in_order(values: Sequence[Any], direction: SortDirection, nulls: NullOrder) -> list[Any]:
    present = [value for value in values if value is not None]
    absent = [value for value in values if value is None]
    present.sort(key=_key, reverse=direction == DESC)
    return [*absent, *present] if nulls == FIRST else [*present, *absent]


def _key(value: Any) -> tuple[bool, Any]:
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan, 0.0 if is_nan else _bytes(value)


def _bytes(value: Any) -> Any:
    """Return what compares as the specification has it: a string by its UTF-8 bytes."""
    return value.encode() if isinstance(value, str) else value
