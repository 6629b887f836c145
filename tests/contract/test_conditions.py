"""What a condition means does not depend on what it is used for, nor on how the rows lie in files (P3).

`base.read(where=...)`, `Delete(where=...)` and the files that a condition rules out are compared with a plain-Python
model of SQL's three-valued logic, for columns of every type, under every transform, with literals that the column can
hold and others that it cannot.
"""

from __future__ import annotations

import math
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyiceberg
import pytest
from pyiceberg.expressions import BooleanExpression, EqualTo, IsNull, NotNull
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform, MonthTransform, Transform
from pyiceberg.types import (
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
)

from seriatim.commit import Append, Base, Delete, Rewrite, Upsert
from seriatim.commit.base_files import BaseFiles
from seriatim.commit.conditions import understood
from seriatim.commit.pruning import Pruning
from seriatim.errors import DuplicateKeyError, InvalidChangeError, RowNotFoundError
from tests.contract.apply_support import call
from tests.contract.condition_model import CASES, KINDS, Judge, Kind, all_comparisons, random_condition
from tests.faults.bank import Bank

MINOR = int(pyiceberg.__version__.split(".")[1])
ID = NestedField(1, "id", LongType(), required=False)


@pytest.mark.parametrize("name", KINDS)
def test_a_comparison_reads_what_the_model_says(empty_bank: Bank, name: str) -> None:
    """Every third of those below, beginning elsewhere on each PyIceberg: between them they have all."""
    judged = _Judged(empty_bank, KINDS[name], transform=None)

    for expression, judge in list(all_comparisons(KINDS[name]))[MINOR % 3 :: 3]:
        judged.read(expression, judge)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", KINDS)
def test_every_comparison_reads_what_the_model_says(empty_bank: Bank, name: str) -> None:
    """Each operator with each literal: in range, at the edge, beyond; each row: a value, NULL, NaN, infinity."""
    judged = _Judged(empty_bank, KINDS[name], transform=None)

    for expression, judge in all_comparisons(KINDS[name]):
        judged.read(expression, judge)


@pytest.mark.parametrize(("name", "transform"), CASES, ids=str)
def test_what_is_read_is_what_is_deleted_and_what_the_model_says(
    empty_bank: Bank, name: str, transform: Transform[Any, Any] | None
) -> None:
    """A random tree of and, or and not; whatever the files are."""
    chance = random.Random(f"{name} {transform}")
    judged = _Judged(empty_bank, KINDS[name], transform)

    expression, judge = random_condition(KINDS[name], chance, depth=3)

    judged.read(expression, judge)
    judged.delete(expression, judge)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("name", "transform"), CASES, ids=str)
def test_what_is_read_is_what_is_deleted_whatever_the_seed(
    empty_bank: Bank, name: str, transform: Transform[Any, Any] | None, seed: int
) -> None:
    """The same, with many more conditions."""
    chance = random.Random(f"{name} {transform} {seed}")
    judged = _Judged(empty_bank, KINDS[name], transform)

    for _ in range(40):
        expression, judge = random_condition(KINDS[name], chance, depth=4)
        judged.read(expression, judge)
        judged.delete(expression, judge)


class _Judged:
    """A table of the kind's values and NULL: all in one file, one alone, and NULL alone; and what is true of it."""

    def __init__(self, bank: Bank, kind: Kind, transform: Transform[Any, Any] | None) -> None:
        self._bank, self._kind = bank, kind
        spec = UNPARTITIONED_PARTITION_SPEC
        if transform is not None:
            spec = PartitionSpec(PartitionField(source_id=2, field_id=1000, transform=transform, name="part"))
        bank.create((), schema=Schema(ID, NestedField(2, "v", kind.type, required=False)), spec=spec)
        values = [value for value in kind.values if transform is None or not (kind.is_float and not value)]
        if transform is not None:  # NaN cannot name a partition, and both zeros cannot name one each.
            values = [value for value in values if value == value]
        with bank.rival() as catalog, catalog.load_table(bank.identifier).transaction() as transaction:
            for number, some in enumerate([[*values, None], values[:1], [None]]):
                ids = pa.array(range(100 * number, 100 * number + len(some)), pa.int64())
                transaction.append(pa.table({"id": ids, "v": kind.array(some)}))
        self._table = bank.table()
        rows = self._table.scan().to_arrow()
        self._rows = list(zip(rows["id"].to_pylist(), rows["v"].to_pylist(), strict=True))
        self._files = [
            (task.file, pq.read_table(Path(task.file.file_path.removeprefix("file://")))["v"].to_pylist())
            for task in self._table.scan().plan_files()
        ]

    def read(self, expression: BooleanExpression, judge: Judge) -> None:
        """Compare what is read, and which files are ruled out."""
        read = Base("t", bank_head(self._table), (), self._table, BaseFiles(self._table)).read(
            where=expression, columns=["id"]
        )

        assert sorted(read["id"].to_pylist()) == self._where(judge, is_true=True), expression
        pruning = Pruning(self._table.metadata, [understood("t", self._table.schema(), expression)])
        for file, values in self._files:
            assert pruning.may_hold(file) or not any(judge(value) for value in values), f"{expression} in {values}"

    def delete(self, expression: BooleanExpression, judge: Judge) -> None:
        """Compare what is left after a Delete, and put the table back."""
        before = self._bank.head()
        call(self._bank, lambda base: Delete(where=expression))
        left = sorted(self._bank.table().scan().to_arrow()["id"].to_pylist())
        if before is not None:
            self._bank.roll_back(before)

        assert left == self._where(judge, is_true=False), expression

    def _where(self, judge: Judge, *, is_true: bool) -> list[int]:
        return sorted(id_ for id_, value in self._rows if (judge(value) is True) == is_true)


def bank_head(table: Any) -> int | None:
    snapshot = table.current_snapshot()
    return None if snapshot is None else snapshot.snapshot_id


# One case each of what was once taken for something else.

FLOATS = Schema(NestedField(1, "k", FloatType()), NestedField(2, "v", LongType()))


def _floats(values: list[float], v: int, schema: Schema = FLOATS) -> pa.Table:
    return pa.Table.from_pylist([{"k": value, "v": v} for value in values], schema=schema.as_arrow())


@pytest.mark.parametrize("others", [[], [5.0]])
def test_no_row_is_taken_away_that_was_not_read(empty_bank: Bank, others: list[float]) -> None:
    """Beside a zero, NaN is unknown to the statistics of a Parquet file: Arrow skips it, for `k != 0`, unread."""
    schema = Schema(NestedField(1, "k", DoubleType()), NestedField(2, "v", LongType()))
    bank = empty_bank.create((), schema=schema)
    call(bank, lambda base: Append(_floats([0.0, *others, math.nan], 7, schema)))

    def bump(base: Base) -> Rewrite:
        rows = base.read(where="k != 0.0")
        return Rewrite(
            rows.set_column(1, rows.schema.field("v"), pa.array([8] * rows.num_rows, pa.int64())), where="k != 0"
        )

    call(bank, bump)

    rows = bank.table().scan().to_arrow().to_pylist()
    assert sorted((repr(row["k"]), row["v"]) for row in rows) == sorted(
        (repr(value), 7 if value == 0 else 8) for value in (0.0, *others, math.nan)
    )


TEXTS = {
    "k < 3000000000": [1, 3],
    "k between -3000000000 and 3000000000": [1, 3],
    "k not in (3000000000, 3000000001)": [1, 3],
    "not k in (3000000000, 1)": [3],
    "k in (2147483647, 4000000000)": [3],
    "k not in (1)": [3],
    "not k < 1000": [3],
    "k > 0.5 and not k >= 1.5": [1],
    "k is not null": [1, 3],
    "k is null or k = 1": [1, 2],
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_row_without_a_value_is_not_selected_by_a_literal_beyond_the_type(empty_bank: Bank, text: str) -> None:
    """PyIceberg takes such a comparison for one that is true of every row."""
    bank = empty_bank.create((), schema=Schema(ID, NestedField(2, "k", IntegerType())))
    with bank.rival() as catalog:
        rows = pa.table({"id": pa.array([1, 2, 3]), "k": pa.array([1, None, 2**31 - 1], pa.int32())})
        catalog.load_table(bank.identifier).append(rows)
    seen: list[int] = []

    def change(base: Base) -> Delete:
        seen.extend(base.read(where=text)["id"].to_pylist())
        return Delete(where=text)

    call(bank, change)

    assert seen == TEXTS[text]
    assert [row["id"] for row in bank.rows()] == [id_ for id_ in (1, 2, 3) if id_ not in seen]


@pytest.mark.parametrize("type_", [FloatType(), DoubleType()], ids=str)
@pytest.mark.parametrize("key", [math.inf, -math.inf, -0.0, 0.0, 1e-45])
def test_a_float_is_found_by_its_key_whatever_it_is(empty_bank: Bank, type_: Any, key: float) -> None:
    """Infinity is beyond no type, and there is one zero."""
    schema = Schema(NestedField(1, "k", type_), NestedField(2, "v", LongType()))
    bank = empty_bank.create((), schema=schema)
    call(bank, lambda base: [Append(_floats([1.0], 0, schema)), Append(_floats([key or 0.0], 0, schema))])

    call(bank, lambda base: Upsert(_floats([key], 1, schema), keys="k"))
    with pytest.raises(RowNotFoundError):
        call(bank, lambda base: Rewrite(_floats([key, 3.0], 2, schema), keys="k"))
    call(bank, lambda base: Rewrite(_floats([key], 2, schema), keys="k"))

    rows = bank.table().scan().to_arrow().to_pylist()
    assert sorted((row["k"], row["v"]) for row in rows) == sorted(
        [(1.0, 0), (_floats([key], 0, schema)["k"][0].as_py(), 2)]
    )
    assert call(bank, lambda base: Delete(keys=_floats([key], 0, schema).select(["k"]))).rows_removed == 1


def test_both_zeros_are_one_key(empty_bank: Bank) -> None:
    """They are equal."""
    bank = empty_bank.create((), schema=FLOATS)

    with pytest.raises(DuplicateKeyError):
        call(bank, lambda base: Upsert(_floats([0.0, -0.0], 1), keys="k"))


@pytest.mark.parametrize("count", [20, 300])
def test_the_last_day_of_all_is_a_day(empty_bank: Bank, count: int) -> None:
    """PyIceberg counts one day further, in a table partitioned by month, and fails."""
    schema = Schema(ID, NestedField(2, "k", DateType()))
    spec = PartitionSpec(PartitionField(2, 1000, MonthTransform(), "month"))
    bank = empty_bank.create((), schema=schema, spec=spec)
    days = pa.array([2932896, *range(count)], pa.int32()).cast(pa.date32())
    rows = pa.table({"id": pa.array(range(count + 1), pa.int64()), "k": days})
    seen: list[int] = []

    def change(base: Base) -> Upsert:
        seen.append(base.read(where="k <= '9999-12-31'").num_rows)
        return Upsert(rows, keys="k")

    call(bank, change)
    call(bank, change)

    assert seen == [0, count + 1]
    assert bank.table().scan().to_arrow().num_rows == count + 1


@pytest.mark.parametrize("names", [["count_all"], ["count_all", "row"], ["0", "count_all"]])
def test_a_key_column_may_be_called_anything(empty_bank: Bank, names: list[str]) -> None:
    """Nothing that is worked out beside the keys has a name that a column could have."""
    fields = [NestedField(number, name, LongType()) for number, name in enumerate(names, 1)]
    bank = empty_bank.create((), schema=Schema(*fields))
    rows = pa.table({name: pa.array([1, 2], pa.int64()) for name in names})

    call(bank, lambda base: Upsert(rows, keys=names))
    call(bank, lambda base: Upsert(rows, keys=names))
    with pytest.raises(DuplicateKeyError) as caught:
        call(bank, lambda base: Upsert(pa.concat_tables([rows, rows]), keys=names))

    assert bank.table().scan().to_arrow().to_pylist() == rows.to_pylist()
    assert caught.value.key == (1 if len(names) == 1 else dict.fromkeys(names, 1))


NESTED = StructType(NestedField(4, "x", LongType(), required=True), NestedField(5, "y", StringType(), required=False))


def test_a_field_of_a_struct_is_read_and_compared_where_the_struct_may_be_null(empty_bank: Bank) -> None:
    """Also when the table is partitioned by a double, and the condition is about a field that is not asked for."""
    schema = Schema(ID, NestedField(2, "d", DoubleType()), NestedField(3, "s", NESTED, required=False))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "part"))
    bank = empty_bank.create((), schema=schema, spec=spec)
    rows = [{"id": 1, "d": 1.0, "s": {"x": 1, "y": "a"}}, {"id": 2, "d": 1.0, "s": None}]
    call(bank, lambda base: Append(pa.Table.from_pylist(rows, schema=base.schema.as_arrow())))
    base = Base("t", bank.head(), (), bank.table(), BaseFiles(bank.table()))

    assert base.read(where="d > 0 and s.y = 'a'", columns=["s.x"]).to_pylist() == [{"s": {"x": 1}}]
    assert base.read(where="s.x is null", columns=["id"]).to_pylist() == [{"id": 2}]
    assert base.read(where=NotNull("s"), columns=["s.y"]).to_pylist() == [{"s": {"y": "a"}}]
    assert base.read(where="d > 7", columns=["s.x"]).to_pylist() == []
    call(bank, lambda base: Delete(where=IsNull("s.x")))
    assert bank.table().scan().to_arrow()["id"].to_pylist() == [1]


@pytest.mark.parametrize(
    ("where", "named"), [("v like 'a%'", "starts with nothing"), (EqualTo("v", Decimal(1)), "nothing but null")]
)
def test_what_does_not_fit_the_column_is_refused(empty_bank: Bank, where: Any, named: str) -> None:
    """Text is no prefix of a struct, and a number does not equal one."""
    schema = Schema(ID, NestedField(2, "v", NESTED, required=False))
    table = empty_bank.create((), schema=schema).table()
    base = Base("t", None, (), table, BaseFiles(table))

    with pytest.raises(InvalidChangeError, match=named):
        base.read(where=where)


@pytest.mark.parametrize("count", [1, 300])
def test_a_key_beyond_the_dates_of_python_is_one_that_no_row_has(empty_bank: Bank, count: int) -> None:
    """Arrow holds days after the year 9999, for which Python has no object."""
    bank = empty_bank.create((), schema=Schema(ID, NestedField(2, "k", DateType())))
    far = pa.array(range(3_000_000, 3_000_000 + count), pa.int32()).cast(pa.date32())
    call(
        bank,
        lambda base: Append(
            pa.table({"id": pa.array([1], pa.int64()), "k": pa.array([0], pa.int32()).cast(pa.date32())})
        ),
    )

    receipt = call(bank, lambda base: Delete(keys=pa.table({"k": far})))

    assert receipt.rows_removed == 0
    assert bank.table().scan().to_arrow().num_rows == 1
