"""`Pruning.may_hold` never denies a row that is there: what it calls harmless is harmless (promise P3).

Random files of every type that has an order, under every partition transform that the type has, and random conditions.
Which rows a condition is true for is worked out in plain Python (`condition_model.py`).
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import Transform
from pyiceberg.types import NestedField

from seriatim.commit.conditions import understood
from seriatim.commit.pruning import Pruning
from tests.contract.condition_model import CASES, KINDS, Kind, random_condition
from tests.faults.bank import Bank

METRICS: tuple[str, ...] = ("full", "truncate(4)", "counts", "none")


@pytest.mark.parametrize(("kind", "transform"), CASES, ids=str)
def test_a_file_that_holds_a_matching_row_is_never_ruled_out(
    empty_bank: Bank, kind: str, transform: Transform[Any, Any] | None
) -> None:
    """P3: one False too many, and a commit that changed what was read is taken for harmless."""
    _check(empty_bank, kind, transform, seed=f"{kind} {transform}", conditions=40)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("kind", "transform"), CASES, ids=str)
def test_a_file_that_holds_a_matching_row_is_never_ruled_out_whatever_the_seed(
    empty_bank: Bank, kind: str, transform: Transform[Any, Any] | None, seed: int
) -> None:
    """P3: the same, with other files and many more conditions."""
    _check(empty_bank, kind, transform, seed=f"{kind} {transform} {seed}", conditions=400)


def _check(bank: Bank, kind: str, transform: Transform[Any, Any] | None, *, seed: str, conditions: int) -> None:
    chance = random.Random(seed)
    files = _Files(bank, KINDS[kind], transform, chance)
    ruled_out = 0

    for _ in range(conditions):
        condition, judge = random_condition(KINDS[kind], chance, depth=2)
        pruning = Pruning(files.table.metadata, [understood("t", files.table.schema(), condition)])
        for file, values in files.files:
            if pruning.may_hold(file):
                continue
            ruled_out += 1
            assert not any(judge(value) for value in values), f"{condition} in {values}"

    # A judge that always says yes would be right, and of no use.
    assert ruled_out > 0


class _Files:
    """Files of random values in one table, read back from its manifests."""

    def __init__(self, bank: Bank, kind: Kind, transform: Transform[Any, Any] | None, chance: random.Random) -> None:
        spec = UNPARTITIONED_PARTITION_SPEC
        if transform is not None:
            spec = PartitionSpec(PartitionField(source_id=1, field_id=1000, transform=transform, name="part"))
        bank.create((), schema=Schema(NestedField(1, "v", kind.type, required=False)), spec=spec)
        with bank.rival() as catalog, catalog.load_table(bank.identifier).transaction() as transaction:
            for metrics in METRICS:
                transaction.set_properties({"write.metadata.metrics.default": metrics})
                transaction.append(self._rows(kind, transform, chance))
        self.table: Table = bank.table()
        self.files = [
            (task.file, pq.read_table(Path(task.file.file_path.removeprefix("file://")))["v"].to_pylist())
            for task in self.table.scan().plan_files()
        ]

    def _rows(self, kind: Kind, transform: Transform[Any, Any] | None, chance: random.Random) -> pa.Table:
        null_share = chance.choice((0.0, 0.3, 1.0))
        values = [
            None if chance.random() < null_share else chance.choice(kind.values) for _ in range(chance.randint(1, 4))
        ]
        if transform is not None:
            values = [
                value for value in values if value is None or value == value
            ]  # No NaN: PyIceberg cannot write it.
        return pa.table({"v": kind.array(values or [None])})
