"""P7: whatever a change gets wrong, the error says what, which values and what to do, and the table is untouched."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    UUIDType,
)

from seriatim.commit import Append, Base, Delete, NoChange, Rewrite, Upsert
from seriatim.errors import DuplicateKeyError, InvalidChangeError, RowNotFoundError
from tests.contract.apply_support import Deposit, call
from tests.faults.bank import Bank
from tests.faults.catalog import REPORTS, Fault, Landing

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "bal", IntegerType(), required=False),
    NestedField(3, "rate", DoubleType(), required=False),
    NestedField(4, "name", StringType(), required=False),
)
ROWS = [{"id": n, "bal": 100 * n, "rate": 1.5, "name": "a"} for n in (1, 2, 3)]


@pytest.fixture
def bank(empty_bank: Bank) -> Bank:
    """A required id, a 32-bit balance, a rate, a name."""
    return empty_bank.create(ROWS, schema=SCHEMA)


@contextmanager
def untouched(bank: Bank) -> Iterator[None]:
    """The table is as it was, and no file lies about."""
    head, rows = bank.head(), bank.rows()
    yield
    assert bank.head() == head
    assert repr(bank.rows()) == repr(rows)
    assert bank.inventory().unreachable == []


def rows(*values: dict[str, Any], schema: pa.Schema | None = None) -> pa.Table:
    full = [{"id": 9, "bal": 1, "rate": 1.0, "name": "x", **one} for one in values]
    return pa.Table.from_pylist(full, schema=schema or SCHEMA.as_arrow())


def retyped(name: str, type_: pa.DataType, *, nullable: bool = True) -> pa.Schema:
    """Return the table's schema with another type for one column."""
    arrow = SCHEMA.as_arrow()
    return arrow.set(arrow.get_field_index(name), pa.field(name, type_, nullable=nullable))


IDS = pa.schema([pa.field("id", pa.int64(), nullable=False)])

# (the change, what its error must name)
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    # Schema.
    "lacks a column": (lambda: Append(rows({}).drop_columns(["rate"])), "'rate'"),
    "has an unknown column": (lambda: Append(rows({}).append_column("tip", pa.array([1]))), "'tip'"),
    "has a column twice": (lambda: Append(rows({}).append_column("bal", pa.array([1], pa.int32()))), "'bal'"),
    "has a wider integer": (lambda: Append(rows({}, schema=retyped("bal", pa.int64()))), "bal"),
    "has a value out of range": (lambda: Append(rows({"bal": 2**31}, schema=retyped("bal", pa.int64()))), "bal"),
    "has text for a number": (lambda: Append(rows({"bal": "1"}, schema=retyped("bal", pa.string()))), "bal"),
    "has a number for text": (lambda: Append(rows({"name": 1}, schema=retyped("name", pa.int64()))), "name"),
    "has a nullable id": (lambda: Append(rows({"id": None}, schema=retyped("id", pa.int64()))), "id"),
    "hides a null where none may be": (lambda: Append(rows({}, {"id": None})), "row 1"),
    "is a list of rows": (lambda: Append([{"id": 9}]), "list"),
    "is a record batch": (lambda: Append(rows({}).to_batches()[0]), "RecordBatch"),
    "is a generator": (lambda: (edit for edit in [NoChange()]), "generator"),
    "is an Arrow table": (lambda: rows({}), "no change"),
    "is no change": (lambda: {"id": 9}, "'id': 9"),
    "is a class": (lambda: NoChange, "NoChange"),
    "is nothing": (lambda: None, "None"),
    "holds something else": (lambda: [Append(rows({})), "and more"], "and more"),
    # Keys.
    "has a null key": (lambda: Upsert(rows({"name": None}), keys="name"), "row 0 has the key name=None"),
    "has a NaN key": (lambda: Upsert(rows({}, {"rate": math.nan}), keys=["id", "rate"]), "row 1 has the key rate=nan"),
    "has keys of no column": (lambda: Upsert(rows({}), keys=["id", "nobody"]), "nobody"),
    "has a key column twice": (lambda: Upsert(rows({}), keys=["id", "id"]), "'id', 'id'"),
    "has no keys": (lambda: Upsert(rows({}), keys=[]), "key columns"),
    "has keys that are None": (lambda: Upsert(rows({}), keys=None), "None"),  # type: ignore[arg-type]
    "has keys that are a number": (lambda: Rewrite(rows({}), keys=1), "1"),  # type: ignore[arg-type]
    "rewrites by keys and where": (lambda: Rewrite(rows({}), keys="id", where="id == 1"), "either keys or where"),
    "rewrites by neither": (lambda: Rewrite(rows({})), "either keys or where"),
    "deletes by keys and where": (lambda: Delete("id == 1", rows({}).select(["id"])), "either keys or where"),
    "deletes by neither": (Delete, "either keys or where"),
    "deletes by a column name": (lambda: Delete(keys="id"), "str"),
    "deletes by unknown keys": (lambda: Delete(keys=pa.table({"nobody": [1]})), "nobody"),
    "deletes by a table without columns": (lambda: Delete(keys=pa.table({})), "key columns"),
    "deletes by text": (lambda: Delete(keys=pa.table({"id": ["1"]})), "id"),
    "deletes by truth": (lambda: Delete(keys=pa.table({"id": [True]})), "id"),
    "deletes by null": (lambda: Delete(keys=pa.table({"name": pa.array([None], pa.string())})), "row 0"),
    "deletes by a key out of range": (lambda: Delete(keys=pa.table({"bal": [2**31]})), "bal"),
    # Conditions.
    "names no column": (lambda: Delete(where="nobody == 1"), "nobody"),
    "names a column in other letters": (lambda: Delete(where="ID == 1"), "ID"),
    "names no column in an expression": (lambda: Rewrite(rows({}), where=EqualTo("nobody", 1)), "nobody"),
    "cannot be parsed": (lambda: Delete(where="id ="), "id ="),
    "is an empty condition": (lambda: Delete(where=""), "''"),
    "compares a number with text": (lambda: Delete(where="id == 'one'"), "one"),
    "has a condition that is none": (lambda: Delete(where=5), "5"),
    "has a condition that is a function": (lambda: Delete(where=lambda row: True), "function"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_change_that_does_not_fit_is_refused_with_what_is_wrong(bank: Bank, what: str) -> None:
    """The message names the table and the value; a second call with a good change finds nothing in its way."""
    make, named = BAD[what]

    with untouched(bank), pytest.raises(InvalidChangeError) as caught:
        call(bank, lambda base: make(), "op")

    message = str(caught.value)
    assert message.startswith("bank.account: ")
    assert named in message
    assert "Nothing was written" in message
    assert len(message) < 1_500
    assert not call(bank, lambda base: Append(rows({})), "op").is_noop


@pytest.mark.parametrize("make", [lambda given: Upsert(given, "name"), lambda given: Rewrite(given, keys=["name"])])
def test_a_key_given_twice_is_told_with_its_value(bank: Bank, make: Callable[[pa.Table], Any]) -> None:
    """Whose value should win is not ours to say."""
    with untouched(bank), pytest.raises(DuplicateKeyError) as caught:
        call(bank, lambda base: make(rows({"name": "a"}, {"name": "é'\"|"}, {"id": 4, "name": "é'\"|"})))

    assert (caught.value.key, caught.value.count) == ("é'\"|", 2)


def test_a_composite_key_given_twice_is_told_by_all_its_columns(bank: Bank) -> None:
    """Equal in one column alone they are two keys."""
    with untouched(bank), pytest.raises(DuplicateKeyError) as caught:
        call(bank, lambda base: Upsert(rows({"id": 1}, {"id": 2}, {"id": 2, "bal": 7}), keys=["id", "name"]))

    assert caught.value.key == {"id": 2, "name": "x"}


def test_a_key_without_a_row_is_told_after_others_were_written(bank: Bank) -> None:
    """Rewrite finds out late, and what it wrote by then is gone."""
    with untouched(bank), pytest.raises(RowNotFoundError) as caught:
        call(bank, lambda base: Rewrite(rows({"id": 1}, {"id": 8}), keys=["id"]))

    assert caught.value.key == 8


def test_the_second_edit_of_several_may_be_the_wrong_one(bank: Bank) -> None:
    """All of them land, or none."""
    with untouched(bank), pytest.raises(RowNotFoundError):
        call(bank, lambda base: [Append(rows({})), Delete(where="id == 1"), Rewrite(rows({"id": 1}), keys="id")])


def test_what_was_narrower_is_widened(bank: Bank) -> None:
    """No value changes: an int32 id fits an int64 column; so does a key, and a column in another order."""
    narrow = rows({}, schema=retyped("id", pa.int32(), nullable=False)).select(["name", "bal", "rate", "id"])

    call(bank, lambda base: Append(narrow))
    call(bank, lambda base: Delete(keys=pa.table({"id": pa.array([1, 2], pa.int16())})))

    assert sorted(bank.balances()) == [3, 9]


# Reads.


@pytest.mark.parametrize(
    ("read", "named"),
    [
        (lambda base: base.read(where="nobody == 1"), "nobody"),
        (lambda base: base.read(where="id = = 1"), "id = = 1"),
        (lambda base: base.read(where="id == 'one'"), "one"),
        (lambda base: base.read(where=5), "5"),
        (lambda base: base.read(columns=["nobody"]), "nobody"),
        (lambda base: base.read(columns="id"), "'id'"),
        (lambda base: base.read(columns=[]), "[]"),
    ],
    ids=["no column", "unparsable", "text", "no condition", "unknown columns", "a name", "no columns"],
)
def test_a_read_that_does_not_fit_is_refused_with_what_is_wrong(
    bank: Bank, read: Callable[[Base], Any], named: str
) -> None:
    """PyIceberg would raise what it met: a parser's exception, a ValueError."""

    def change(base: Base) -> NoChange:
        read(base)
        return NoChange()

    with untouched(bank), pytest.raises(InvalidChangeError) as caught:
        call(bank, change, "op")

    assert str(caught.value).startswith("bank.account: ")
    assert named in str(caught.value)
    assert "['id', 'bal', 'rate', 'name']" in str(caught.value)


# What a caller's code does to what it was given.


def _spoil(column: pa.ChunkedArray) -> bool:
    """Write zeros into the memory of an Arrow column, if it lets itself be written to."""
    spoilt = False
    for chunk in column.chunks:
        buffer = chunk.buffers()[1]
        if buffer is not None and buffer.is_mutable:
            memoryview(buffer).cast("B")[:] = bytes(buffer.size)
            spoilt = True
    return spoilt


def test_a_change_that_spoils_what_it_was_given_spoils_only_its_own_copy(bank: Bank) -> None:
    """The rows that are carried over come from the files, the schema from the table."""

    def change(base: Base) -> Rewrite:
        given = base.read(columns=["id", "bal"])
        for name in given.column_names:
            _spoil(given[name])
        base.schema.as_arrow().remove(0)
        listed = base.read().to_pylist()
        listed[0].clear()
        return Rewrite(rows({"id": 1, "bal": 7}), keys="id")

    call(bank, change)

    assert bank.balances() == {1: 7, 2: 200, 3: 300}


def test_the_lists_that_a_change_returned_may_be_changed_afterwards(bank: Bank) -> None:
    """Nothing of the caller's is looked at again, not even when the change is committed on a later base."""
    keys = ["id"]
    edits = [Append(rows({})), Upsert(rows({"id": 1, "bal": 7}), keys)]

    def meanwhile() -> None:
        edits.clear()
        keys.clear()
        bank.set_property("owner", "somebody")

    catalog = bank.connect().fail(Fault(REPORTS["CommitFailed"](), Landing.NEVER, meanwhile))
    call(bank, lambda base: edits, catalog=catalog)

    assert (edits, keys) == ([], [])
    assert bank.balances() == {1: 7, 2: 200, 3: 300, 9: 1}


# Operation ids.

ODD_IDS = [
    "é漢字😀",
    "a'b\"c",
    "line\nbreak\ttab",
    "interest|1993-01|account=1",
    "[1, 2]",
    "null",
    " ",
    "\\",
    "\x00",
    "x" * 999,
]


@pytest.mark.parametrize("operation_id", ODD_IDS, ids=ascii)
def test_an_operation_id_of_odd_characters_is_the_same_when_it_is_read_back(bank: Bank, operation_id: str) -> None:
    """It is found by its own name and by no other, alone and among others."""
    append = lambda base: Append(rows({}))  # noqa: E731
    first = call(bank, append, operation_id, "and another")

    again = call(bank, append, operation_id)
    other = call(bank, lambda base: Delete(where="id == 9"), operation_id + " ")

    assert again.already_applied == {operation_id: first.snapshot_ids[-1]}
    assert not other.is_noop
    assert bank.balances() == {1: 100, 2: 200, 3: 300}


TOO_LONG = pytest.param(("x" * 1_001,), id="too long")


@pytest.mark.parametrize("ids", [("",), ("a", ""), ("a", "a"), (None,), (1,), (b"a",), TOO_LONG], ids=repr)
def test_an_operation_id_that_cannot_name_one_thing_is_refused(bank: Bank, ids: tuple[Any, ...]) -> None:
    """Empty, twice, no text, or so long that the summary of each snapshot would carry a book."""
    deposit = Deposit(10)

    with untouched(bank), pytest.raises(InvalidChangeError):
        call(bank, deposit, *ids)

    assert deposit.bases == []


# Types.


def test_uuids_are_keys(empty_bank: Bank) -> None:
    """Arrow can neither group nor join by them as they are."""
    schema = Schema(NestedField(1, "id", UUIDType(), required=False), NestedField(2, "bal", LongType(), required=False))
    bank = empty_bank.create((), schema=schema)

    def some(numbers: range, bal: int) -> pa.Table:
        values = [{"id": number.to_bytes(16), "bal": bal} for number in numbers]
        return pa.Table.from_pylist(values, schema=schema.as_arrow())

    call(bank, lambda base: Append(some(range(500), 1)))
    call(bank, lambda base: Upsert(some(range(250, 600), 2), keys="id"))
    call(bank, lambda base: Delete(keys=some(range(10), 0).select(["id"])))
    with pytest.raises(DuplicateKeyError):
        call(bank, lambda base: Upsert(pa.concat_tables([some(range(1), 1)] * 2), keys="id"))

    balances = bank.table().scan().to_arrow()["bal"].to_pylist()
    assert (len(balances), sum(balances)) == (590, 240 + 2 * 350)


def test_a_column_of_lists_is_no_key(empty_bank: Bank) -> None:
    """Arrow would say that it is not implemented."""
    tags = ListType(element_id=3, element_type=LongType(), element_required=False)
    bank = empty_bank.create((), schema=Schema(NestedField(1, "id", LongType()), NestedField(2, "tags", tags)))
    tagged = pa.table(
        {"id": [1], "tags": pa.array([[1]], pa.large_list(pa.int64()))}, schema=bank.table().schema().as_arrow()
    )

    with pytest.raises(InvalidChangeError, match="tags"):
        call(bank, lambda base: Upsert(tagged, keys=["id", "tags"]))

    assert bank.head() is None


def test_a_condition_on_a_field_of_a_struct_is_about_that_field(empty_bank: Bank) -> None:
    """There is a column of the same name, which PyIceberg 0.10 would take it for."""
    inner = StructType(NestedField(4, "bal", LongType(), required=False))
    bank = empty_bank.create((), schema=Schema(
        NestedField(1, "id", LongType(), required=False),
        NestedField(2, "bal", LongType(), required=False),
        NestedField(3, "old", inner, required=False),
    ))  # fmt: skip
    two = [{"id": 1, "bal": 5, "old": {"bal": 6}}, {"id": 2, "bal": 6, "old": {"bal": 5}}]
    call(bank, lambda base: Append(pa.Table.from_pylist(two, schema=base.schema.as_arrow())))
    seen: list[list[int]] = []

    def change(base: Base) -> Delete:
        seen.append(base.read(where="old.bal == 5")["id"].to_pylist())
        return Delete(where="old.bal == 5")

    call(bank, change)

    assert (seen, list(bank.balances())) == ([[2]], [1])


def test_what_not_less_means_does_not_depend_on_the_files(empty_bank: Bank) -> None:
    """`not bal < 5` is true for a NaN, which is not below 5; PyIceberg finds it in some files only."""
    schema = Schema(
        NestedField(1, "id", LongType(), required=False), NestedField(2, "bal", DoubleType(), required=False)
    )
    values = [{"id": 1, "bal": 7.0}, {"id": 2, "bal": math.nan}, {"id": 3, "bal": 1.0}]
    bank = empty_bank.create(values, schema=schema)

    def change(base: Base) -> Delete:
        assert base.read(where="not bal < 5")["id"].to_pylist() == [1, 2]
        return Delete(where="not bal < 5")

    call(bank, change)

    assert sorted(bank.balances()) == [3]


def test_a_number_is_compared_with_a_32_bit_float_as_one(empty_bank: Bank) -> None:
    """0.1 is none: PyIceberg finds the row that it was written as in some files, and skips it in others."""
    schema = Schema(
        NestedField(1, "id", LongType(), required=False), NestedField(2, "bal", FloatType(), required=False)
    )
    three = [{"id": 1, "bal": 0.1}, {"id": 2, "bal": 0.2}, {"id": 3, "bal": 0.3}]
    bank = empty_bank.create(three, schema=schema, file_per_row=True)

    def change(base: Base) -> Delete:
        found = base.read(where="bal == 0.1 or bal in (0.2, 7.0) or bal == '0.3'")
        assert sorted(found["id"].to_pylist()) == [1, 2, 3]
        return Delete(where="bal == 0.1")

    call(bank, change)

    assert list(bank.balances()) == [2, 3]


# Partitions that PyIceberg cannot write.


def _by_rate(bank: Bank, *rates: float | None) -> Bank:
    spec = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "part"))
    return bank.create(
        [{**row, "rate": rate} for row, rate in zip(ROWS, rates, strict=False)], schema=SCHEMA, spec=spec
    )


def test_a_partition_of_nan_is_refused(empty_bank: Bank) -> None:
    """PyIceberg fails on it with a division by zero, having written some of the files."""
    bank = _by_rate(empty_bank, 1.5, 2.5, None)

    with untouched(bank), pytest.raises(InvalidChangeError, match="rate=NaN"):
        call(bank, lambda base: Append(rows({"rate": 7.0}, {"rate": math.nan})))


def test_partitions_of_both_zeros_are_refused(empty_bank: Bank) -> None:
    """PyIceberg writes each of the rows into both."""
    bank = _by_rate(empty_bank, 1.5, 2.5, None)

    with untouched(bank), pytest.raises(InvalidChangeError, match="4 rows of 2"):
        call(bank, lambda base: Append(rows({"rate": 0.0}, {"rate": -0.0})))


def test_a_row_is_found_in_the_partition_of_a_double(empty_bank: Bank) -> None:
    """PyIceberg writes the partition's value as a 32-bit float, where it looks for 0.1 in vain."""
    bank = _by_rate(empty_bank, 0.1, 0.2, None)

    def change(base: Base) -> Upsert:
        assert base.read(where="rate == 0.1", columns=["bal"]).to_pylist() == [{"bal": 100}]
        return Upsert(rows({"id": 1, "rate": 0.1, "bal": 7}), keys="rate")

    call(bank, change)

    assert bank.balances() == {1: 7, 2: 200, 3: 300}
