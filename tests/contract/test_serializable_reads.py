"""P3, both directions: a rival that cannot have touched what was read costs nothing; one that may have, recomputes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions.parser import parse
from pyiceberg.expressions.visitors import bind
from pyiceberg.io.pyarrow import expression_to_pyarrow
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, TruncateTransform
from pyiceberg.types import DoubleType, LongType, NestedField, StringType, TimestampType

from seriatim.commit import Append, Base, Change, Conflict, Event
from seriatim.commit.observe import Reapplied, Rebased
from tests.contract.apply_support import Told, call
from tests.faults.bank import Bank, Row

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "bal", LongType(), required=False),
    NestedField(3, "region", StringType(), required=False),
    NestedField(4, "opened", TimestampType(), required=False),
    NestedField(5, "rate", DoubleType(), required=False),
)
DAY = datetime(1993, 1, 5, 12)  # noqa: DTZ001  # A timestamp without a zone is what the column holds.
RESULT = 1_000  # The id of the row that a change writes: beyond what any rival writes.


def row(account_id: int | None, bal: int | None = 100, **values: Any) -> Row:
    return {"id": account_id, "bal": bal, "region": "north", "opened": DAY, "rate": 1.5, **values}


ROWS = (row(1), row(2, 200, region="south", opened=DAY.replace(day=6)), row(3, 300, region=None, opened=None))

SPECS = {
    "none": UNPARTITIONED_PARTITION_SPEC,
    "region": PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "part")),
    "start": PartitionSpec(PartitionField(3, 1000, TruncateTransform(2), "part")),
    "bucket of id": PartitionSpec(PartitionField(1, 1000, BucketTransform(8), "part")),
    "day": PartitionSpec(PartitionField(4, 1000, DayTransform(), "part")),
}


def insert(*rows: Row) -> Callable[[Bank], None]:
    def rival(bank: Bank) -> None:
        with bank.rival() as catalog:
            table = catalog.load_table(bank.identifier)
            table.append(pa.Table.from_pylist(list(rows), schema=table.schema().as_arrow()))

    return rival


def deposit(account_id: int) -> Callable[[Bank], None]:
    return lambda bank: bank.change(account_id, bal=bank.balances()[account_id] + 7)


def close(account_id: int) -> Callable[[Bank], None]:
    return lambda bank: bank.close_account(account_id)


@dataclass
class Total:
    """Writes the sum of the balances that it read as a row of its own; the rival comes between read and write."""

    bank: Bank
    where: str | None
    rival: Callable[[Bank], None]
    seen: list[int] = field(default_factory=list)  # each sum
    left: list[dict[str, Any]] = field(default_factory=list)  # the rows that the rival left

    def __call__(self, base: Base) -> Change:
        rows = base.read(where=self.where).to_pylist()
        if not self.seen:
            self.rival(self.bank)
            self.left = self.bank.rows()
        self.seen.append(sum(one["bal"] or 0 for one in rows))
        result = row(RESULT, self.seen[-1], region="result", opened=None)
        names = base.schema.column_names
        kept = {name: value for name, value in result.items() if name in names}
        return Append(pa.Table.from_pylist([kept], schema=base.schema.as_arrow()))


class Watch(Told):
    """Keeps which data files had been written, and were in no snapshot, when the first attempt had lost."""

    def __init__(self, bank: Bank) -> None:
        super().__init__()
        self._bank = bank
        self.staged: list[Path] = []

    def notify(self, event: Event) -> None:
        if isinstance(event, Conflict) and not self.staged:
            self.staged = [path for path in self._bank.inventory().unreachable if path.suffix == ".parquet"]
        super().notify(event)


def added_by(bank: Bank, snapshot_id: int) -> list[Path]:
    """Return the data files that a snapshot has and its parent has not."""
    table = bank.table()
    snapshot = table.snapshot_by_id(snapshot_id)
    assert snapshot is not None
    files = [
        {task.file.file_path for task in table.scan(snapshot_id=one).plan_files()} if one is not None else set()
        for one in (snapshot.snapshot_id, snapshot.parent_snapshot_id)
    ]
    return sorted(Path(path.removeprefix("file://")) for path in files[0] - files[1])


@dataclass(frozen=True)
class Case:
    """A table, what is read of it, and what a rival does between the read and the write."""

    where: str | None
    rival: Callable[[Bank], None]
    spec: str = "none"
    file_per_row: bool = False
    metrics: str = "truncate(16)"
    rows: Sequence[Row] = ROWS

    def create(self, bank: Bank) -> Bank:
        properties = {"write.metadata.metrics.default": self.metrics}
        return bank.create(
            self.rows, schema=SCHEMA, spec=SPECS[self.spec], file_per_row=self.file_per_row, properties=properties
        )


SHORT = "truncate(4)"
ON_DAY = "opened >= '1993-01-05T00:00:00' and opened < '1993-01-06T00:00:00'"

HARMLESS: dict[str, Case] = {
    "changes a row of another partition": Case("region == 'north'", deposit(2), "region", metrics="none"),
    "changes a row of the partition of NULL": Case("region == 'north'", deposit(3), "region"),
    "changes a row of a partition that is not NULL": Case("region is null", deposit(2), "region"),
    "deletes a row of another partition": Case("region == 'north'", close(2), "region"),
    "opens a new partition": Case("region == 'north'", insert(row(9, region="west")), "region"),
    "adds to a partition that starts otherwise": Case("region == 'north'", insert(row(9, region="se")), "start"),
    "changes a row of another bucket": Case("id == 1", deposit(3), "bucket of id", metrics="none"),
    "adds to another day": Case(ON_DAY, insert(row(9, opened=DAY.replace(day=7))), "day", metrics="none"),
    "changes a row of another file": Case("id == 1", deposit(2), file_per_row=True),
    "deletes a row of another file": Case("id < 2", close(3), file_per_row=True),
    "adds a file beyond what was read": Case("id in (1, 2, 3)", insert(row(50), row(60))),
    "adds a file beyond an empty read": Case("id == 77", insert(row(50), row(60))),
    "adds a file without a NULL": Case("region is null", insert(row(50), row(60))),
    "adds a file of NULLs": Case("region == 'north'", insert(row(None, region=None))),
    "adds what starts with another prefix": Case("region like 'nor%'", insert(row(9, region="nose"))),
    "adds strings that start otherwise": Case("region == 'north'", insert(row(9, region="nort")), metrics=SHORT),
    "adds what fits only one of two conditions": Case("id < 9 and bal < 90", insert(row(9, 80), row(10, 80))),
    "adds below what was read": Case("not bal < 1000", insert(row(9, 999))),
}

TOUCHING: dict[str, Case] = {
    "changes another row of the same file": Case("id == 1", deposit(2)),
    "changes the row": Case("id == 1", deposit(1), file_per_row=True),
    "deletes the row": Case("id == 1", close(1), file_per_row=True),
    "deletes another row of a file": Case("region == 'north' and id == 1", close(4), "region", rows=(*ROWS, row(4))),
    "adds a file whose bounds overlap": Case("id == 55", insert(row(50), row(60))),
    "adds a row to an empty read": Case("id == 77", insert(row(77))),
    "adds a NULL": Case("bal is null", insert(row(9, None))),
    "adds a NULL to a file": Case("region is null", insert(row(9), row(10, region=None))),
    "adds to the partition of NULL": Case("region is null", insert(row(9, region=None)), "region"),
    "adds a NaN": Case("rate is nan", insert(row(9, rate=math.nan))),
    "adds a NaN among numbers": Case("rate is nan", insert(row(9), row(10, rate=math.nan))),
    "adds something that is no NaN": Case("rate is not nan", insert(row(9, rate=-math.inf))),
    "adds a file without bounds": Case("id == 77", insert(row(50)), metrics="none"),
    "adds a file with counts alone": Case("id == 77", insert(row(50)), metrics="counts"),
    "adds a string that starts in the same way": Case("region == 'norther'", insert(row(9)), metrics=SHORT),
    "adds one that starts as the prefix": Case(
        "region like 'northern%'", insert(row(9, region="north")), metrics=SHORT
    ),
    "adds to what is anything but": Case("region != 'south'", insert(row(9, region="west"))),
    "adds to a table read as a whole": Case(None, insert(row(9))),
    "adds to the partition": Case("region == 'north'", insert(row(9)), "region"),
    "adds to partitions that start alike": Case(
        "region == 'north'", insert(row(9, region="nose")), "start", metrics="none"
    ),
    "adds to the bucket": Case("id == 1", insert(row(1)), "bucket of id", metrics="none"),
    "adds to the day": Case(ON_DAY, insert(row(9, opened=DAY.replace(hour=0))), "day"),
    "adds what fits one of two conditions": Case("id == 77 or bal < 90", insert(row(9, 80))),
    "adds what fits no number of few": Case("not id in (1, 2, 3)", insert(row(9))),
}


@pytest.mark.parametrize("rival", HARMLESS)
def test_a_rival_that_cannot_have_touched_what_was_read_costs_nothing(empty_bank: Bank, rival: str) -> None:
    """The change is computed once, and the very files that were written first are committed on the rival's snapshot."""
    case = HARMLESS[rival]
    bank = case.create(empty_bank)
    total, watch = Total(bank, case.where, case.rival), Watch(bank)

    receipt = call(bank, total, observer=watch)

    assert len(total.seen) == 1
    assert (receipt.attempts, receipt.rebases, len(watch.conflicts)) == (2, 1, 1)
    assert [event.is_replanned for event in watch.events if isinstance(event, Rebased)] == [False]
    assert added_by(bank, receipt.snapshot_ids[0]) == watch.staged != []
    check_serial(bank, total)


@pytest.mark.parametrize("rival", TOUCHING)
def test_a_rival_that_may_have_touched_what_was_read_makes_it_be_computed_again(empty_bank: Bank, rival: str) -> None:
    """What cannot be proven harmless is a conflict: the second computation reads what the rival left."""
    case = TOUCHING[rival]
    bank = case.create(empty_bank)
    total, watch = Total(bank, case.where, case.rival), Watch(bank)

    receipt = call(bank, total, observer=watch)

    assert len(total.seen) == 2
    assert (receipt.attempts, receipt.rebases, len(watch.conflicts)) == (2, 0, 1)
    assert len([event for event in watch.events if isinstance(event, Reapplied)]) == 1
    assert watch.staged != []
    assert not any(path.exists() for path in watch.staged)
    check_serial(bank, total)


@pytest.mark.parametrize(("account_id", "calls"), [(2, 1), (1, 2)])
def test_a_file_is_judged_by_the_partition_spec_that_it_was_written_with(
    empty_bank: Bank, account_id: int, calls: int
) -> None:
    """Without bounds, its region in the former spec alone tells what a file can hold; the present one has none."""
    case = Case("region == 'north'", close(account_id), "region", metrics="none")
    bank = case.create(empty_bank)
    with bank.rival() as catalog, catalog.load_table(bank.identifier).update_spec() as update:
        update.remove_field("part")
    total = Total(bank, case.where, case.rival)

    receipt = call(bank, total)

    assert (len(total.seen), receipt.rebases) == (calls, 2 - calls)
    check_serial(bank, total)


@pytest.mark.parametrize("ids", [(1, 50), (50, 1)], ids=str)
def test_each_of_the_commits_that_filled_an_empty_table_counts(empty_bank: Bank, ids: tuple[int, int]) -> None:
    """Where there was no snapshot to read, all of them came afterwards, and none may be passed over."""

    def rivals(bank: Bank) -> None:
        for account_id in ids:
            insert(row(account_id))(bank)

    case = Case("id == 1", rivals, rows=())
    total = Total(case.create(empty_bank), case.where, case.rival)

    receipt = call(total.bank, total)

    assert total.seen == [0, 100]
    assert (receipt.attempts, receipt.rebases) == (2, 0)
    assert total.bank.balances() == {1: 100, 50: 100, RESULT: 100}


def check_serial(bank: Bank, total: Total) -> None:
    """The table is as the rival left it, and one row more: the sum of what is read of it now, which comes after it."""
    *others, result = bank.rows()
    now = bank.table().scan().to_arrow()
    if total.where is not None:  # Not by the scan: it goes by the statistics of Parquet, which know of no NaN.
        now = now.filter(expression_to_pyarrow(bind(bank.table().schema(), parse(total.where), case_sensitive=True)))

    assert repr(others) == repr(total.left)  # Not by ==: a NaN is not equal to itself.
    assert (result["id"], result["bal"]) == (
        RESULT,
        sum(one["bal"] or 0 for one in now.to_pylist() if one["id"] != RESULT),
    )
    assert bank.inventory().unreachable == []
    assert bank.inventory().missing == []
