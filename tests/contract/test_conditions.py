"""What a condition means does not depend on what it is used for, nor on how the rows lie in files (P3).

`base.read(where=...)`, `Delete(where=...)` and the files that a condition rules out are compared with a plain-Python
model of SQL's three-valued logic, for columns of every type, under every transform, with literals that the column can
hold and others that it cannot.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
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

from seriatim.commit import Append, Base, Delete, NoChange, Rewrite, Upsert
from seriatim.commit.conditions import understood
from seriatim.commit.pruning import Pruning
from seriatim.errors import DuplicateKeyError, InvalidChangeError, RowNotFoundError
from tests.contract.apply_support import call
from tests.contract.condition_model import CASES, KINDS, Judge, Kind, all_comparisons, random_condition
from tests.faults.bank import Bank

ID = NestedField(1, "id", LongType(), required=False)


@pytest.mark.parametrize(("name", "transform"), CASES, ids=str)
def test_every_comparison_reads_what_the_model_says(
    empty_bank: Bank, name: str, transform: Transform[Any, Any] | None
) -> None:
    """Each operator with each literal: in range, at the edge, beyond; each row: a value, NULL, NaN, infinity."""
    kind = KINDS[name]
    judged = _Judged(empty_bank, kind, transform)

    for expression, judge in all_comparisons(kind):
        judged.read(expression, judge)


@pytest.mark.parametrize(("name", "transform"), CASES, ids=str)
def test_what_is_read_is_what_is_deleted_and_what_the_model_says(
    empty_bank: Bank, name: str, transform: Transform[Any, Any] | None
) -> None:
    """Random trees of and, or and not; whatever the files are."""
    chance = random.Random(f"{name} {transform}")
    judged = _Judged(empty_bank, KINDS[name], transform)

    for _ in range(4):
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
    """A table of the kind's values and NULL: all in one file, each with NULL, each alone; and what is true of it."""

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
            for number, some in enumerate([[*values, None], [None], *([value, None] for value in values[:3]), values]):
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
        read = Base("t", bank_head(self._table), (), self._table).read(where=expression, columns=["id"])

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
