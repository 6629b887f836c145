"""`compact`: the same rows in fewer files, also beside writers."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableResponse, FileScanTask, Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.table.update import AddSortOrderUpdate, SetDefaultSortOrderUpdate
from pyiceberg.transforms import IdentityTransform
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
)

from seriatim.commit import Receipt, RetryPolicy
from seriatim.errors import ConflictError, UpkeepRefusedError
from seriatim.upkeep import compact, plan_compaction
from tests.contract.apply_support import Deposit, Told, call
from tests.contract.ledger_support import commit
from tests.contract.upkeep_support import files, ordered, readings
from tests.faults.bank import Bank, account_schema
from tests.faults.catalog import FaultyCatalog
from tests.faults.clock import ManualClock
from tests.faults.delete_files import delete_equal, delete_positions
from tests.faults.files import local_path

BY_BALANCE = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "bal"), spec_id=0)


def run(bank: Bank, catalog: Any = None, **options: Any) -> Receipt:
    return compact(
        catalog or bank.connect(),
        bank.identifier,
        **{"clock": ManualClock(), "chance": random.Random(1), **options},
    )


def tasks(bank: Bank) -> list[FileScanTask]:
    return list(bank.table().scan().plan_files())


def test_small_files_become_one_and_every_snapshot_reads_as_before(empty_bank: Bank) -> None:
    """One snapshot of operation `replace`: the same rows, by the specification."""
    bank = empty_bank.create([{"id": number, "bal": number} for number in range(8)], file_per_row=True)
    before, properties = readings(bank.table()), bank.table().properties

    receipt = run(bank)

    after = readings(bank.table())
    head = bank.table().current_snapshot()
    assert len(tasks(bank)) == 1
    assert {id_: after[id_] for id_ in before} == before
    assert after[receipt.snapshot_ids[0]] == before[receipt.base_snapshot_id or 0]
    assert (receipt.files_added, receipt.files_removed, receipt.rows_written, receipt.rows_removed) == (1, 8, 0, 0)
    assert head is not None
    assert head.summary is not None
    assert head.summary.operation == Operation.REPLACE
    assert head.summary.additional_properties["total-records"] == "8"
    assert head.summary.additional_properties["total-data-files"] == "1"
    assert bank.table().properties == properties
    assert bank.inventory().unreachable == bank.inventory().missing == []


def test_a_table_of_format_version_1_is_compacted(empty_bank: Bank) -> None:
    """It has no sequence numbers, so that nothing is ever known to be dead; the rows are the same."""
    bank = empty_bank.create(file_per_row=True, properties={"format-version": "1"})

    catalog = _Raced(bank, lambda: bank.open_account(9, 9))
    run(bank, catalog)
    catalog.engine.dispose()

    assert sorted(task.file.record_count for task in tasks(bank)) == [1, 3]
    assert bank.balances() == {1: 100, 2: 200, 3: 300, 9: 9}
    assert bank.inventory().missing == []


def test_a_second_compaction_commits_nothing(empty_bank: Bank) -> None:
    """So that a schedule may run it as often as it likes."""
    bank = empty_bank.create(file_per_row=True)
    run(bank)
    before = bank.table().metadata_location

    assert run(bank).is_noop
    assert bank.table().metadata_location == before


def test_a_plan_says_what_a_compaction_would_do(empty_bank: Bank) -> None:
    """And does nothing."""
    bank = empty_bank.create(file_per_row=True)
    before = bank.table().metadata_location

    plan = plan_compaction(bank.connect(), bank.identifier)

    assert (plan.files_seen, plan.files, plan.files_after, plan.files_left) == (3, 3, 1, 0)
    assert plan.bytes == sum(task.file.file_size_in_bytes for task in tasks(bank))
    assert bank.table().metadata_location == before


def test_an_empty_table_is_left(empty_bank: Bank) -> None:
    """There is no snapshot to compact."""
    bank = empty_bank.create([])

    assert run(bank).is_noop
    assert plan_compaction(bank.connect(), bank.identifier).base_snapshot_id is None


def test_large_files_and_lonely_ones_are_left(empty_bank: Bank) -> None:
    """A file is written again only if that makes fewer files."""
    bank = empty_bank.create(file_per_row=True)
    size = max(task.file.file_size_in_bytes for task in tasks(bank))

    assert run(bank, target_bytes=size).is_noop
    assert run(bank, files_min=4).is_noop
    assert run(bank, target_bytes=10 * size, small_below=0.01).is_noop


def test_groups_are_filled_up_to_the_target(empty_bank: Bank) -> None:
    """No more than that is in memory at a time, and no file becomes much larger."""
    bank = empty_bank.create([{"id": number, "bal": number} for number in range(6)], file_per_row=True)
    size = max(task.file.file_size_in_bytes for task in tasks(bank))

    run(bank, target_bytes=2 * size)

    assert [task.file.record_count for task in tasks(bank)] == [2, 2, 2]


def test_a_group_becomes_one_file_whatever_size_the_table_writes(empty_bank: Bank) -> None:
    """PyIceberg counts the bytes in memory; in pieces of that size a group might be as many files as before."""
    bank = empty_bank.create(file_per_row=True)
    bank.set_property("write.target-file-size-bytes", "16")  # One row.

    run(bank)

    assert len(tasks(bank)) == 1


EVERYTHING = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "i", IntegerType()),
    NestedField(3, "f", FloatType()),
    NestedField(4, "d", DoubleType()),
    NestedField(5, "s", StringType()),
    NestedField(6, "b", BinaryType()),
    NestedField(7, "t", TimestampType()),
    NestedField(8, "z", TimestamptzType()),
    NestedField(9, "day", DateType()),
    NestedField(10, "at", TimeType()),
    NestedField(11, "money", DecimalType(20, 4)),
    NestedField(12, "yes", BooleanType()),
    NestedField(13, "many", ListType(14, LongType(), element_required=False)),
)


def test_every_type_null_and_nan_stay_what_they_are(empty_bank: Bank) -> None:
    """A compaction that changes a value is a lost update."""
    nan = float("nan")
    full = {
        "id": 1,
        "i": -(2**31),
        "f": 0.5,
        "d": -0.0,
        "s": "ß\0",
        "b": b"\0\xff",
        "t": datetime(1, 1, 1),  # noqa: DTZ001  # A timestamp without a zone.
        "z": datetime(9999, 12, 31, tzinfo=UTC),
        "day": date(1969, 12, 31),
        "at": time(23, 59, 59, 999_999),
        "money": Decimal("-1234567890123456.7891"),
        "yes": False,
        "many": [1, None, 2**62],
    }
    nulls = {**dict.fromkeys(full), "id": 2}
    bank = empty_bank.create([full, nulls, {**full, "id": 3, "f": nan, "d": nan}], schema=EVERYTHING, file_per_row=True)
    before = bank.table().scan().to_arrow()

    run(bank)

    after = bank.table().scan().to_arrow()
    assert len(tasks(bank)) == 1
    assert after.schema == before.schema
    assert repr(ordered(after)) == repr(ordered(before))


def test_rows_are_sorted_as_the_table_says(empty_bank: Bank) -> None:
    """And the file says so."""
    bank = empty_bank.create([{"id": number, "bal": -number} for number in (3, 1, 2)], file_per_row=True)
    field = SortField(2, IdentityTransform(), SortDirection.ASC, NullOrder.NULLS_FIRST)
    commit(
        bank,
        AddSortOrderUpdate(sort_order=SortOrder(field, order_id=1)),
        SetDefaultSortOrderUpdate(sort_order_id=1),
    )

    run(bank)

    (task,) = tasks(bank)
    assert pq.read_table(local_path(task.file.file_path))["bal"].to_pylist() == [-3, -2, -1]
    assert task.file.sort_order_id == 1


def test_partitions_stay_apart(empty_bank: Bank) -> None:
    """Each has its files."""
    rows = [{"id": number, "bal": number % 2} for number in range(6)]
    bank = empty_bank.create(rows, spec=BY_BALANCE, file_per_row=True)
    before = bank.rows()

    receipt = run(bank)

    assert sorted(task.file.record_count for task in tasks(bank)) == [3, 3]
    assert (receipt.files_added, receipt.files_removed) == (2, 6)
    assert bank.rows() == before


def test_files_of_an_older_spec_are_left_and_counted(empty_bank: Bank) -> None:
    """Under the new spec they might become more files."""
    bank = empty_bank.create(file_per_row=True)
    with bank.rival() as rival, rival.load_table(bank.identifier).update_spec() as update:
        update.add_identity("bal")
    bank.open_account(4, 100)
    bank.open_account(5, 100)
    before = bank.rows()

    plan = plan_compaction(bank.connect(), bank.identifier)
    run(bank)

    assert (plan.files, plan.files_left) == (2, 3)
    assert sorted(task.file.record_count for task in tasks(bank)) == [1, 1, 1, 2]
    assert bank.rows() == before


def test_files_of_an_older_schema_are_written_in_the_present_one(empty_bank: Bank) -> None:
    """A column that came later is NULL in them, one that was widened is wide, one that was dropped stays dropped."""
    schema = account_schema(NestedField(3, "gone", LongType()), bits=(64, 32))
    bank = empty_bank.create([{"id": 1, "bal": 1, "gone": 1}, {"id": 2, "bal": 2, "gone": 2}], schema=schema)
    with bank.rival() as rival, rival.load_table(bank.identifier).update_schema() as update:
        update.delete_column("gone").update_column("bal", LongType())
    with bank.rival() as rival, rival.load_table(bank.identifier).update_schema() as update:
        update.add_column("gone", LongType())
    bank.open_account(3, 2**40)
    before = bank.table().scan().to_arrow()

    run(bank)

    after = bank.table().scan().to_arrow()
    assert len(tasks(bank)) == 1
    assert after.schema == before.schema
    assert ordered(after) == ordered(before)
    assert [row["gone"] for row in bank.rows()] == [None] * 3


def test_rows_that_delete_files_took_are_gone_and_a_file_is_not_written_twice(bank: Bank) -> None:
    """A single file with deletes on it is written again, and then has none."""
    (task,) = tasks(bank)
    delete_positions(bank, {task.file.file_path: [1]})
    before = readings(bank.table())

    receipt = run(bank)

    after = readings(bank.table())
    assert {id_: after[id_] for id_ in before} == before
    assert bank.balances() == {1: 100, 3: 300}
    assert (receipt.files_added, receipt.files_removed) == (1, 1)
    assert [len(each.delete_files) for each in tasks(bank)] == [0]
    assert run(bank).is_noop


def test_a_file_of_which_every_row_was_deleted_goes(bank: Bank) -> None:
    """Nothing takes its place."""
    (task,) = tasks(bank)
    delete_positions(bank, {task.file.file_path: [0, 1, 2]})

    receipt = run(bank)

    assert (receipt.files_added, receipt.files_removed) == (0, 1)
    assert bank.rows() == []


class _Raced(FaultyCatalog):
    """A catalog in which something happens just before each commit, as long as there is something left to happen."""

    def __init__(self, bank: Bank, *happens: Callable[[], object], loses_reply: bool = False) -> None:
        super().__init__("bank", **bank.properties())
        self._happens, self._loses_reply = list(happens), loses_reply

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        if self._happens:
            self._happens.pop(0)()
        response = super().commit_table(table, requirements, updates)
        if self._loses_reply:
            self._loses_reply = False
            raise ConnectionError("the reply was lost")
        return response


def test_files_are_kept_when_a_writer_only_appends(empty_bank: Bank) -> None:
    """What was written stays true, so that a compaction does not starve."""
    bank = empty_bank.create(file_per_row=True)
    seen: list[set[Any]] = []

    def rival() -> None:
        seen.append({path for path in files(bank) if path.suffix == ".parquet"})
        bank.open_account(9, 9)

    catalog, told = _Raced(bank, *[rival] * 3), Told()
    receipt = run(bank, catalog, observer=told)
    catalog.engine.dispose()

    assert (receipt.attempts, receipt.rebases, len(receipt.conflicts)) == (4, 3, 3)
    assert [each.file.record_count for each in sorted(tasks(bank), key=lambda each: each.file.record_count)] == [
        1,
        1,
        1,
        3,
    ]
    assert {local_path(each.file.file_path) for each in tasks(bank) if each.file.record_count == 3} <= seen[0]
    assert bank.balances() == {1: 100, 2: 200, 3: 300, 9: 9}
    assert bank.inventory().unreachable == bank.inventory().missing == []


def test_a_group_of_which_a_file_was_replaced_is_dropped_and_the_others_land(empty_bank: Bank) -> None:
    """What the writer did to it is not undone."""
    rows = [{"id": number, "bal": number % 2} for number in range(4)]
    bank = empty_bank.create(rows, spec=BY_BALANCE, file_per_row=True)

    catalog = _Raced(bank, lambda: bank.close_account(0))
    receipt = run(bank, catalog)
    catalog.engine.dispose()

    assert (receipt.files_added, receipt.files_removed) == (1, 2)
    assert bank.balances() == {1: 1, 2: 0, 3: 1}
    assert bank.inventory().unreachable == bank.inventory().missing == []


def test_a_plan_of_which_nothing_is_left_is_made_anew(empty_bank: Bank) -> None:
    """On the new base, with what the writer did."""
    bank = empty_bank.create(file_per_row=True)

    catalog = _Raced(bank, lambda: bank.deposit(10))
    receipt = run(bank, catalog)
    catalog.engine.dispose()

    assert (receipt.attempts, receipt.files_removed) == (2, 3)
    assert bank.balances() == {1: 110, 2: 200, 3: 300}
    assert len(tasks(bank)) == 1
    assert bank.inventory().unreachable == bank.inventory().missing == []


def test_a_row_that_a_delete_file_took_meanwhile_does_not_come_back(empty_bank: Bank) -> None:
    """The files that were written still have it, and no delete file of before applies to them."""
    bank = empty_bank.create(file_per_row=True)
    paths = {row["id"]: task.file.file_path for task in tasks(bank) for row in rows_of(task)}

    catalog = _Raced(bank, lambda: delete_positions(bank, {paths[2]: [0]}))
    run(bank, catalog)
    catalog.engine.dispose()

    assert bank.balances() == {1: 100, 3: 300}
    assert len(tasks(bank)) == 1
    assert bank.inventory().unreachable == []


def rows_of(task: FileScanTask) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(local_path(task.file.file_path)).to_pylist()
    return rows


@pytest.mark.parametrize("is_raced", [False, True])
def test_equality_deletes_are_refused(empty_bank: Bank, is_raced: bool) -> None:
    """PyIceberg cannot read such a table, so that nobody knows which rows are left."""
    bank = empty_bank.create(file_per_row=True)
    catalog = _Raced(bank, lambda: delete_equal(bank, id=2)) if is_raced else bank.connect()
    if not is_raced:
        delete_equal(bank, id=2)

    with pytest.raises(UpkeepRefusedError, match="equality"):
        run(bank, catalog)
    catalog.engine.dispose()

    assert bank.inventory().unreachable == bank.inventory().missing == []


def test_a_compaction_that_loses_every_time_leaves_nothing(empty_bank: Bank) -> None:
    """Neither a change nor a file."""
    bank = empty_bank.create(file_per_row=True)
    catalog = _Raced(bank, *[lambda: bank.deposit(1)] * 2)

    with pytest.raises(ConflictError):
        run(bank, catalog, policy=RetryPolicy(attempts_max=2))
    catalog.engine.dispose()

    assert bank.balances() == {1: 102, 2: 200, 3: 300}
    assert bank.inventory().unreachable == bank.inventory().missing == []


def test_a_lost_reply_is_looked_up(empty_bank: Bank) -> None:
    """It has landed, once, and its files stay."""
    bank = empty_bank.create(file_per_row=True)
    catalog = _Raced(bank, loses_reply=True)

    receipt = run(bank, catalog)
    catalog.engine.dispose()

    assert receipt.snapshot_ids == (bank.head(),)
    assert bank.balances() == {1: 100, 2: 200, 3: 300}
    assert bank.inventory().unreachable == bank.inventory().missing == []


def test_a_change_that_was_computed_before_a_compaction_lands_after_it(empty_bank: Bank) -> None:
    """It is planned anew, and not computed anew."""
    bank = empty_bank.create(file_per_row=True)

    def rival() -> None:
        run(bank)

    deposit = Deposit(10, rival)

    receipt = call(bank, deposit, "it")

    assert (len(deposit.bases), receipt.rebases) == (1, 1)
    assert bank.balances() == {1: 110, 2: 200, 3: 300}


def test_operations_are_known_after_a_compaction(empty_bank: Bank) -> None:
    """It carries the ledger on, as every commit of ours does."""
    bank = empty_bank.create(file_per_row=True)
    call(bank, Deposit(1), "it")

    run(bank)
    bank.expire_all_but_head()

    assert call(bank, Deposit(1), "it").is_noop


def test_a_branch_is_compacted_by_itself(empty_bank: Bank) -> None:
    """Main stays what it is."""
    bank = empty_bank.create(file_per_row=True)
    bank.append_to_branch("other")
    before = bank.head()

    receipt = run(bank, branch="other")

    assert receipt.files_removed == 4
    assert bank.head() == before


def test_a_file_that_has_not_the_rows_that_it_should_is_refused(empty_bank: Bank) -> None:
    """Rows that cannot be read must not be lost for good."""
    bank = empty_bank.create(file_per_row=True)
    path = local_path(tasks(bank)[0].file.file_path)
    rows = pq.read_table(path)
    pq.write_table(pa.concat_tables([rows, rows]), path)

    with pytest.raises(UpkeepRefusedError, match="rows"):
        run(bank)
    assert len(tasks(bank)) == 3


@pytest.mark.parametrize("sizes", [{"target_bytes": 0}, {"small_below": 0.0}, {"small_below": 1.1}, {"files_min": 1}])
def test_sizes_that_make_no_sense_are_refused(bank: Bank, sizes: dict[str, Any]) -> None:
    """With some of them a compaction would rewrite one file for ever."""
    with pytest.raises(ValueError, match=next(iter(sizes))):
        run(bank, **sizes)
