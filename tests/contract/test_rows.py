"""Only the balance of id 1 changes: every other value of every row keeps its value, whatever its type."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, IdentityTransform, TruncateTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

from solution import commit_with_retry, read_balance
from tests.contract.checks import add, check_conflicts, check_intact, check_no_residue
from tests.faults.bank import Bank, account_schema

ADDRESS = StructType(
    NestedField(21, "street", StringType(), required=True), NestedField(22, "floor", LongType(), required=False)
)
MANY_TYPES = (
    NestedField(3, "owner", StringType(), required=False),
    NestedField(4, "overdraft", DecimalType(18, 4), required=False),
    NestedField(5, "opened", TimestampType(), required=False),
    NestedField(6, "seen", TimestamptzType(), required=False),
    NestedField(7, "born", DateType(), required=False),
    NestedField(8, "wakes", TimeType(), required=False),
    NestedField(9, "secret", BinaryType(), required=False),
    NestedField(10, "pin", FixedType(4), required=False),
    NestedField(11, "rate", DoubleType(), required=False),
    NestedField(12, "is_open", BooleanType(), required=False),
    NestedField(13, "tags", ListType(23, StringType(), element_required=False), required=False),
    NestedField(14, "address", ADDRESS, required=False),
    NestedField(15, "limits", MapType(24, StringType(), 25, LongType(), value_required=False), required=False),
)
BRANCH = NestedField(16, "branch", StringType(), required=True)
FULL_ROW: dict[str, Any] = {
    "owner": "Zoë 🏦",
    "overdraft": Decimal("-12345678901234.5678"),
    "opened": dt.datetime(1993, 1, 1, 0, 0, 0, 1),  # noqa: DTZ001  (The column has no zone.)
    "seen": dt.datetime(2026, 3, 29, 1, 30, 0, 999_999, tzinfo=dt.UTC),
    "born": dt.date(1900, 2, 28),
    "wakes": dt.time(23, 59, 59, 999_999),
    "secret": b"\x00\xff",
    "pin": b"1234",
    "rate": 0.1 + 0.2,
    "is_open": False,
    "tags": ["a", None, ""],
    "address": {"street": "Main", "floor": None},
    "limits": [("day", 5), ("month", None)],
}
EMPTY_ROW = dict.fromkeys(FULL_ROW)
HOLLOW_ROW = FULL_ROW | {
    "owner": "",
    "overdraft": Decimal("0.0000"),
    "secret": b"",
    "rate": float("-inf"),
    "tags": [],
    "limits": [],
}


def row(account_id: int | None, balance: int | None, branch: str = "north", **values: Any) -> dict[str, Any]:
    """Return a row of the wide table; columns that are not given are NULL."""
    return {"id": account_id, "bal": balance, "branch": branch, **EMPTY_ROW, **values}


@pytest.mark.parametrize("file_per_row", [True, False], ids=["own_file", "shared_file"])
@pytest.mark.parametrize("ours", [FULL_ROW, EMPTY_ROW, HOLLOW_ROW], ids=["full", "null", "hollow"])
def test_every_other_value_is_kept(empty_bank: Bank, ours: dict[str, Any], file_per_row: bool) -> None:
    """`overwrite` with id and balance alone would set the row's other columns to NULL, and say nothing."""
    rows = [row(None, 9, **FULL_ROW), row(1, 100, **ours), row(2, None), row(3, 300, "south", **FULL_ROW)]
    bank = empty_bank.create(rows, schema=account_schema(*MANY_TYPES, BRANCH), file_per_row=file_per_row)

    call = add(commit_with_retry, bank.connect(), 7)

    assert call.error is None
    assert bank.rows() == [rows[0], rows[1] | {"bal": 107}, *rows[2:]]
    check_no_residue(bank)


@pytest.mark.parametrize("file_per_row", [True, False], ids=["own_file", "shared_file"])
def test_no_number_stays_no_number(empty_bank: Bank, file_per_row: bool) -> None:
    """NaN is not equal to itself, in our row and in others."""
    rate = NestedField(3, "rate", DoubleType(), required=False)
    rows = [{"id": 1, "bal": 100, "rate": float("nan")}, {"id": 2, "bal": 200, "rate": float("nan")}]
    bank = empty_bank.create(rows, schema=account_schema(rate), file_per_row=file_per_row)

    call = add(commit_with_retry, bank.connect(), 7)

    assert call.error is None
    assert bank.balances() == {1: 107, 2: 200}
    assert all(math.isnan(row["rate"]) for row in bank.rows())


def test_a_rivals_change_of_another_column_is_kept(empty_bank: Bank) -> None:
    """The row is read anew for each attempt as a whole, not only its balance."""
    rows = [row(1, 100, **FULL_ROW), row(2, 200)]
    bank = empty_bank.create(rows, schema=account_schema(*MANY_TYPES, BRANCH))

    call = add(
        commit_with_retry, bank.connect(), 7, rival=lambda attempt: None if attempt else bank.change(1, owner="Ada")
    )

    assert call.error is None
    assert bank.rows() == [rows[0] | {"bal": 107, "owner": "Ada"}, rows[1]]


def test_a_column_younger_than_the_row_stays_null(bank: Bank) -> None:
    """The row's file knows nothing of the column."""
    bank.add_column()

    call = add(commit_with_retry, bank.connect(), 7)

    assert call.error is None
    assert bank.rows() == [
        {"id": 1, "bal": 107, "note": None},
        {"id": 2, "bal": 200, "note": None},
        {"id": 3, "bal": 300, "note": None},
    ]


@pytest.mark.parametrize("required", [(False, False), (True, True), (True, False), (False, True)])
@pytest.mark.parametrize("bits", [(64, 64), (32, 32), (32, 64), (64, 32)])
def test_id_and_balance_have_either_width_and_may_be_required(
    empty_bank: Bank, bits: tuple[int, int], required: tuple[bool, bool]
) -> None:
    """PyIceberg refuses an Arrow table whose types or nullability are not the table's."""
    bank = empty_bank.create(schema=account_schema(bits=bits, required=required))
    schema = bank.table().schema()

    call = add(commit_with_retry, bank.connect(), -300)

    assert (call.error, call.value) == (None, -200)
    assert bank.balances() == {1: -200, 2: 200, 3: 300}
    assert read_balance(bank.table()) == -200
    assert bank.table().schema() == schema


def test_the_columns_may_stand_in_any_order(empty_bank: Bank) -> None:
    """Columns are found by name."""
    schema = Schema(
        NestedField(1, "bal", LongType(), required=False),
        NestedField(2, "owner", StringType(), required=False),
        NestedField(3, "id", LongType(), required=True),
    )
    bank = empty_bank.create([{"id": 2, "bal": 1}, {"id": 1, "bal": 2, "owner": "Ada"}], schema=schema)

    call = add(commit_with_retry, bank.connect(), 5)

    assert call.error is None
    assert bank.rows() == [{"id": 1, "bal": 7, "owner": "Ada"}, {"id": 2, "bal": 1, "owner": None}]


@pytest.mark.parametrize(
    "spec",
    [
        PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id")),
        PartitionSpec(PartitionField(1, 1000, BucketTransform(4), "id_bucket")),
        PartitionSpec(PartitionField(1, 1000, TruncateTransform(10), "id_trunc")),
        PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "bal")),
    ],
    ids=["identity", "bucket", "truncate", "by_balance"],
)
def test_the_table_may_be_partitioned(empty_bank: Bank, spec: PartitionSpec) -> None:
    """Also by the balance: then the row moves to another partition."""
    check_conflicts(commit_with_retry, empty_bank.create(spec=spec), conflicts=1)


@pytest.mark.parametrize("file_per_row", [True, False], ids=["own_file", "shared_file"])
def test_the_table_may_be_of_format_version_1(
    empty_bank: Bank, monkeypatch: pytest.MonkeyPatch, file_per_row: bool
) -> None:
    """It has no sequence numbers to prove an attempt dead by, so the files of the lost ones are left to upkeep.

    All but the metadata file that the catalog did not take: that one is nowhere.
    """
    bank = empty_bank.create(file_per_row=file_per_row, properties={"format-version": "1"})
    deleted: list[str] = []
    monkeypatch.setattr(PyArrowFileIO, "delete", lambda io, location: deleted.append(str(location)))

    check_conflicts(commit_with_retry, bank, conflicts=2)

    assert bank.table().format_version == 1
    assert [location for location in deleted if not location.endswith(".metadata.json")] == []


@pytest.mark.parametrize(
    "properties", [{"write.delete.mode": "merge-on-read"}, {"write.metadata.compression-codec": "gzip"}]
)
def test_table_properties_make_no_difference(empty_bank: Bank, properties: dict[str, str]) -> None:
    """They concern how files are written, not what is in them."""
    check_conflicts(commit_with_retry, empty_bank.create(properties=properties), conflicts=1)


def test_a_long_life_of_the_table_makes_no_difference(bank: Bank) -> None:
    """Ten deposits later there are manifests without live files, and the row stands in the newest of the data files."""
    for _ in range(10):
        add(commit_with_retry, bank.connect(), 1)

    assert bank.balances() == {1: 110, 2: 200, 3: 300}
    check_intact(bank)
    check_no_residue(bank)
