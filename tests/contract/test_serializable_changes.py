"""P3 for what a change writes: keys, conditions, delete files, compactions, another form of the table, write skew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.table.snapshots import Operation
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType

from seriatim.commit import Append, Base, Change, Delete, RetentionPolicy, Rewrite, Upsert
from seriatim.commit.chain import Step
from seriatim.commit.observe import Reapplied, Rebased
from tests.contract.apply_support import Deposit, Told, call
from tests.contract.chain_support import land
from tests.faults.avro_files import path_of
from tests.faults.bank import Bank, Row, account_schema
from tests.faults.catalog import REPORTS, Fault, Landing
from tests.faults.delete_files import delete_equal, delete_positions
from tests.faults.replace import compact

Meanwhile = Callable[[Bank], object]


def accounts(*rows: tuple[int, int]) -> pa.Table:
    return pa.table({"id": pa.array([id_ for id_, _ in rows], pa.int64()), "bal": [bal for _, bal in rows]})


class Meet:
    """Returns one change, which needs no read; `meanwhile` happens before it is written for the first time."""

    def __init__(self, bank: Bank, change: Change, meanwhile: Meanwhile) -> None:
        self._bank, self._change, self._meanwhile = bank, change, meanwhile
        self.calls = 0

    def __call__(self, base: Base) -> Change:
        self.calls += 1
        if self.calls == 1:
            self._meanwhile(self._bank)
        return self._change


def check(
    bank: Bank, change: Change, meanwhile: Meanwhile, *operation_ids: str, calls: int, balances: dict[int, int]
) -> None:
    """Let the change meet the rival; it is computed `calls` times, and leaves these balances and nothing else."""
    meet, told = Meet(bank, change, meanwhile), Told()

    receipt = call(bank, meet, *operation_ids, observer=told)

    assert meet.calls == calls
    assert receipt.attempts == 2
    assert (receipt.rebases, len(_reapplied(told))) == (2 - calls, calls - 1)
    assert bank.balances() == balances
    assert len(bank.rows()) == len(balances)
    assert bank.inventory().unreachable == []
    assert bank.inventory().missing == []


def _reapplied(told: Told) -> list[Reapplied]:
    return [event for event in told.events if isinstance(event, Reapplied)]


def _replanned(told: Told) -> list[bool]:
    return [event.is_replanned for event in told.events if isinstance(event, Rebased)]


def _two_files(bank: Bank) -> Bank:
    """Accounts 1 to 3 in one file, 11 to 13 in another."""
    bank.create([{"id": n, "bal": 100 * n} for n in (1, 2, 3)])
    with bank.rival() as catalog:
        catalog.load_table(bank.identifier).append(accounts((11, 1_100), (12, 1_200), (13, 1_300)))
    return bank


LEFT = {1: 100, 2: 200, 3: 300, 11: 1_100, 12: 1_200, 13: 1_300}


# What an edit takes away, or wants to be sure of, counts as read.

EDITS: dict[str, tuple[Change, dict[int, int]]] = {
    "rewrite by keys": (Rewrite(accounts((2, 5)), keys="id"), {2: 5}),
    "rewrite where": (Rewrite(accounts((2, 5)), where="id == 2"), {2: 5}),
    "upsert": (Upsert(accounts((2, 5), (3, 6)), keys=["id"]), {2: 5, 3: 6}),
    "delete by keys": (Delete(keys=pa.table({"id": [2]})), {}),
    "delete where": (Delete(where="id > 1 and id < 3"), {}),
    "several": ([Delete(where="id == 2"), Append(accounts((2, 5)))], {2: 5}),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_not_computed_again_for_a_rival_in_other_files(empty_bank: Bank, edit: str) -> None:
    """The file it replaces is there as it was, so what was staged is committed as it is."""
    bank, (change, written) = _two_files(empty_bank), EDITS[edit]
    others = {id_: bal for id_, bal in LEFT.items() if id_ != 2}

    check(
        bank,
        change,
        lambda bank: bank.change(12, bal=7),
        calls=1,
        balances={**others, 12: 7, **written},
    )


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_computed_again_for_a_rival_in_its_file(empty_bank: Bank, edit: str) -> None:
    """What was staged holds the rival's rows as they were before; committing it would undo the rival."""
    bank, (change, written) = _two_files(empty_bank), EDITS[edit]
    others = {id_: bal for id_, bal in LEFT.items() if id_ != 2}

    check(bank, change, lambda bank: bank.change(1, bal=7), calls=2, balances={**others, 1: 7, **written})


@pytest.mark.parametrize("edit", ["upsert", "delete by keys", "delete where", "rewrite where"])
def test_an_edit_that_found_no_row_is_computed_again_when_the_row_may_have_come(empty_bank: Bank, edit: str) -> None:
    """Absence is read, too: both would have inserted the row, or the one that was to be deleted would have stayed."""
    bank, (change, written) = empty_bank.create([{"id": 11, "bal": 1_100}]), EDITS[edit]

    check(bank, change, lambda bank: bank.open_account(2, 9), "op", calls=2, balances={11: 1_100, **written})


def test_a_delete_that_found_no_row_and_has_no_name_comes_before_the_row(empty_bank: Bank) -> None:
    """It has nothing to commit, so that there is nothing to conflict: a serial order all the same."""
    bank = empty_bank.create([{"id": 11, "bal": 1_100}])

    receipt = call(bank, Meet(bank, Delete(where="id == 2"), lambda bank: bank.open_account(2, 9)))

    assert receipt.is_noop
    assert bank.balances() == {2: 9, 11: 1_100}


@pytest.mark.parametrize(("rival_id", "calls"), [(1, 2), (11, 2), (21, 2), (31, 1)])
def test_every_read_counts_and_so_does_what_is_written(empty_bank: Bank, rival_id: int, calls: int) -> None:
    """Reads accounts 1 and 11, rewrites 21: a rival at any of these three is a conflict, one at 31 is none."""
    rows = [{"id": id_, "bal": 10 * id_} for id_ in (1, 11, 21, 31)]
    bank = empty_bank.create(rows, file_per_row=True)
    seen: list[int] = []

    def change(base: Base) -> Change:
        total = sum(base.read(where=f"id == {id_}")["bal"][0].as_py() for id_ in (1, 11))
        if not seen:
            bank.change(rival_id, bal=7)
        seen.append(total)
        return Rewrite(accounts((21, total)), keys="id")

    receipt = call(bank, change)

    left = {1: 10, 11: 110, 21: 210, 31: 310, rival_id: 7}
    assert (len(seen), receipt.rebases) == (calls, 2 - calls)
    assert bank.balances() == {**left, 21: left[1] + left[11]}
    assert bank.inventory().unreachable == []


def test_an_append_alone_reads_nothing(bank: Bank) -> None:
    """Whatever a rival does to rows, a blind append comes after it."""
    balances = {1: 7, 2: 200, 3: 300, 2_000: 5}

    check(bank, Append(accounts((2_000, 5))), lambda bank: bank.change(1, bal=7), calls=1, balances=balances)


@pytest.mark.parametrize(("rival_id", "calls"), [(700, 2), (5_000, 1)])
def test_more_keys_than_pyiceberg_compares_one_by_one_are_compared_by_their_range(
    empty_bank: Bank, rival_id: int, calls: int
) -> None:
    """PyIceberg rules no file out by more than 200 values: 300 of them, 0 to 897, stand for all between."""
    bank = empty_bank.create([{"id": 11_000, "bal": 1}])
    keys = [(3 * n, n) for n in range(300)]

    check(
        bank,
        Upsert(accounts(*keys), keys="id"),
        lambda bank: bank.open_account(rival_id, 1),
        calls=calls,
        balances={11_000: 1, rival_id: 1, **dict(keys)},
    )


@pytest.mark.parametrize(
    ("rival", "calls"),
    [
        (((2, 100), (2, 200)), 1),  # No key has an id from 2 to 2.
        (((0, 300), (4, 400)), 1),  # Nor a balance from 300 to 400.
        (((0, 50), (4, 250)), 2),  # Between these there could be both keys.
    ],
)
def test_composite_keys_count_by_each_of_their_columns(
    empty_bank: Bank, rival: tuple[tuple[int, int], ...], calls: int
) -> None:
    """Keys (1, 100) and (3, 200): what is beyond one column's values is no key; within both there may be one."""
    bank = empty_bank.create([{"id": 11, "bal": 1_100}])
    upsert = Meet(bank, Upsert(accounts((1, 100), (3, 200)), keys=["id", "bal"]), lambda bank: _append(bank, *rival))

    receipt = call(bank, upsert)

    assert (upsert.calls, receipt.rebases) == (calls, 2 - calls)
    assert sorted((one["id"], one["bal"]) for one in bank.rows()) == sorted([(1, 100), (3, 200), (11, 1_100), *rival])


def _append(bank: Bank, *rows: tuple[int, int]) -> None:
    with bank.rival() as catalog:
        catalog.load_table(bank.identifier).append(accounts(*rows))


IN_ORDER: dict[str, tuple[list[Any], dict[int, int]]] = {
    "add, take away": ([Append(accounts((9, 1))), Delete(where="id == 9")], {1: 100, 2: 200, 3: 300}),
    "take away, add": ([Delete(where="id > 1"), Append(accounts((2, 5)))], {1: 100, 2: 5}),
    "add, rewrite": ([Append(accounts((9, 1))), Rewrite(accounts((9, 2)), keys="id")], {1: 100, 2: 200, 3: 300, 9: 2}),
    "rewrite twice": ([Upsert(accounts((1, 5)), "id"), Upsert(accounts((1, 6)), "id")], {1: 6, 2: 200, 3: 300}),
    "replace, take away": ([Rewrite(accounts((1, 5), (2, 6)), where="id > 0"), Delete(where="bal == 5")], {2: 6}),
}  # fmt: skip


@pytest.mark.parametrize("order", IN_ORDER)
def test_several_edits_are_one_commit_in_their_order(bank: Bank, order: str) -> None:
    """Each is applied to what the ones before it left, and no reader sees anything between."""
    edits, balances = IN_ORDER[order]

    receipt = call(bank, lambda base: edits)

    assert bank.balances() == balances
    assert len(bank.rows()) == len(balances)
    assert len(receipt.snapshot_ids) == (0 if order == "add, take away" else 1)  # Nothing is left of that one.
    assert bank.inventory().unreachable == []


# The form of the table.


def test_a_column_that_was_dropped_and_added_again_is_read_anew(bank: Bank) -> None:
    """It makes no snapshot, and every balance is NULL since: the old ones must come from nowhere."""
    seen: list[list[Any]] = []

    def change(base: Base) -> Change:
        rows = base.read()
        if not seen:
            bank.replace_balance_column(None)
        seen.append(rows["bal"].to_pylist())
        return Rewrite(rows, where=AlwaysTrue())

    receipt = call(bank, change)

    assert sorted(seen[0]) == [100, 200, 300]
    assert seen[1:] == [[None, None, None]]
    assert receipt.rebases == 0
    assert bank.balances() == {1: None, 2: None, 3: None}


def test_a_column_that_was_added_is_read_with_the_rest(bank: Bank) -> None:
    """It makes no snapshot either; the rows that are read can be written back as they are."""
    rivals = [bank.add_column]

    def change(base: Base) -> Change:
        if rivals:
            rivals.pop()()
        return Rewrite(base.read(where="id == 1"), keys="id")

    receipt = call(bank, change)

    assert receipt.attempts == 2
    assert bank.rows()[0] == {"id": 1, "bal": 100, "note": None}


def test_a_column_that_was_renamed_is_read_by_its_new_name(bank: Bank) -> None:
    """A scan of the snapshot would have the old name, by which nothing can be written."""
    with bank.rival() as catalog, catalog.load_table(bank.identifier).update_schema() as update:
        update.rename_column("bal", "balance")

    call(bank, lambda base: Rewrite(base.read(where="balance == 100", columns=["id", "balance"]), keys="id"))

    assert [one["balance"] for one in bank.rows()] == [100, 200, 300]


def test_a_column_that_was_widened_is_read_in_old_files_and_new(empty_bank: Bank) -> None:
    """0.10 and 0.11 cannot read the bounds that an older file has for it."""
    bank = empty_bank.create(schema=account_schema(bits=(32, 64)))
    deposit = Deposit(10, lambda: _widen(bank))

    call(bank, deposit)
    call(bank, lambda base: Upsert(accounts((2, 5), (2**40, 6)), keys="id"))

    assert bank.balances() == {1: 110, 2: 5, 3: 300, 2**40: 6}


def _widen(bank: Bank) -> None:
    with bank.rival() as catalog, catalog.load_table(bank.identifier).update_schema() as update:
        update.update_column("id", LongType())


def test_a_new_partition_spec_makes_it_be_computed_again(bank: Bank) -> None:
    """Files staged under the old spec are not committed under the new one; older files are judged by their own."""
    deposit = Deposit(10, lambda: _partition_by_id(bank), lambda: bank.change(3, bal=7))

    receipt = call(bank, deposit)

    assert (len(deposit.bases), receipt.attempts) == (3, 3)  # The row of id 3 is in the one file of the old spec still.
    assert bank.balances() == {1: 110, 2: 200, 3: 7}
    assert bank.inventory().unreachable == []

    again = Deposit(1, lambda: bank.change(3, bal=8))
    assert (call(bank, again).rebases, len(again.bases)) == (1, 1)
    assert bank.balances() == {1: 111, 2: 200, 3: 8}


def _partition_by_id(bank: Bank) -> None:
    with bank.rival() as catalog, catalog.load_table(bank.identifier).update_spec() as update:
        update.add_field("id", IdentityTransform(), "part")


# Delete files, which other engines write.


def _path(bank: Bank, account_id: int) -> str:
    (task,) = bank.table().scan(row_filter=f"id == {account_id}").plan_files()
    return str(task.file.file_path)


def _delete(*positions: tuple[int, int], **bounds: Any) -> Meanwhile:
    """Return a rival that deletes rows, each named by an account of the same file and its position there."""
    return lambda bank: delete_positions(bank, {_path(bank, id_): [pos] for id_, pos in positions}, **bounds)


# (the rival, how often the change is computed, which accounts are gone)
DELETES: dict[str, tuple[Meanwhile, int, list[int]]] = {
    "of rows in a file that cannot hold what was read": (_delete((12, 1)), 1, [12]),
    "of another row of the file": (_delete((1, 1)), 2, [2]),
    "of the row": (_delete((1, 0)), 2, [1]),
    "in two files": (_delete((12, 1), (1, 2)), 2, [12, 3]),
    "in a file that is not told": (_delete((12, 1), has_bounds=False), 2, [12]),
    "in a file whose path was cut short": (_delete((12, 1), bounds=("file:///", "file://0")), 2, [12]),
}


@pytest.mark.parametrize("deletion", DELETES)
def test_a_delete_file_is_harmless_only_if_its_one_file_cannot_hold_what_was_read(
    empty_bank: Bank, deletion: str
) -> None:
    """Its own bounds tell which file that is, if they are one whole path; otherwise it may be any."""
    bank, (meanwhile, calls, gone) = _two_files(empty_bank), DELETES[deletion]
    total = _Total(bank, "id in (1, 2, 3)", meanwhile)

    receipt = call(bank, total)

    left = {id_: bal for id_, bal in LEFT.items() if id_ not in gone}
    assert (len(total.seen), receipt.rebases) == (calls, 2 - calls)
    assert bank.balances() == {**left, 99: sum(bal for id_, bal in left.items() if id_ < 10)}
    assert bank.inventory().missing == []
    assert bank.inventory().unreachable == []


class _Total:
    """Appends the sum of the balances it reads as account 99."""

    def __init__(self, bank: Bank, where: str, meanwhile: Meanwhile) -> None:
        self._bank, self._where, self._meanwhile = bank, where, meanwhile
        self.seen: list[int] = []

    def __call__(self, base: Base) -> Change:
        rows = base.read(where=self._where)
        if not self.seen:
            self._meanwhile(self._bank)
        self.seen.append(sum(rows["bal"].to_pylist()))
        return Append(accounts((99, self.seen[-1])))


def test_an_equality_delete_may_be_about_any_row(empty_bank: Bank) -> None:
    """PyIceberg cannot read a table with one, so the second computation ends with its error; nothing is written."""
    bank = _two_files(empty_bank)
    total = _Total(bank, "id == 1", lambda bank: delete_equal(bank, id=12))

    with pytest.raises(ValueError, match="equality"):
        call(bank, total)

    assert len(total.seen) == 1
    assert len(bank.snapshot_ids()) == 3
    assert bank.inventory().unreachable == []


def test_a_file_that_was_removed_and_added_again_is_another_one(empty_bank: Bank) -> None:
    """A delete file hid its first row, and does not apply to what was added after it."""
    bank = _two_files(empty_bank)
    delete_positions(bank, {_path(bank, 1): [0]})

    def add_again(bank: Bank) -> None:
        table = bank.table()
        (file,) = (task.file for task in table.scan().plan_files() if task.file.file_path == _path(bank, 2))
        land(bank, [Step(Operation.DELETE, (), (file,)), Step(Operation.APPEND, (file,), ())])
        assert bank.balances()[1] == 100

    total = _Total(bank, "id < 10", add_again)
    call(bank, total)

    assert total.seen == [500, 600]
    assert bank.balances()[99] == 600


@pytest.mark.parametrize("edit", ["rewrite by keys", "delete where", "upsert"])
def test_a_row_that_a_delete_file_took_away_does_not_come_back(empty_bank: Bank, edit: str) -> None:
    """What is left of a file that is written again are its live rows."""
    bank, (change, written) = _two_files(empty_bank), EDITS[edit]
    delete_positions(bank, {_path(bank, 1): [0]})
    assert bank.balances() == {id_: bal for id_, bal in LEFT.items() if id_ != 1}

    call(bank, lambda base: change)

    assert bank.balances() == {**{id_: bal for id_, bal in LEFT.items() if id_ not in (1, 2)}, **written}


def test_a_row_that_a_delete_file_took_away_is_absent(empty_bank: Bank) -> None:
    """An upsert inserts it anew; the delete file is about the old file alone."""
    bank = _two_files(empty_bank)
    delete_positions(bank, {_path(bank, 1): [1]})

    call(bank, lambda base: EDITS["upsert"][0])

    assert bank.balances() == {**LEFT, 2: 5, 3: 6}


# Compaction.


def _is_first(bank: Bank) -> Callable[[DataFile], bool]:
    path = _path(bank, 1)
    return lambda file: str(file.file_path) == path


@pytest.mark.parametrize("edit", EDITS)
def test_a_compaction_never_makes_a_writer_recompute_but_plan_its_files_again(empty_bank: Bank, edit: str) -> None:
    """The rows are the same in other files: the change holds, and its rows are taken from where they are now."""
    bank, (change, written) = _two_files(empty_bank), EDITS[edit]
    meet, told = Meet(bank, change, compact), Told()

    receipt = call(bank, meet, observer=told)

    assert meet.calls == 1
    assert (receipt.attempts, receipt.rebases, _replanned(told)) == (2, 1, [True])
    assert bank.balances() == {**{id_: bal for id_, bal in LEFT.items() if id_ != 2}, **written}
    assert len(bank.rows()) == len(bank.balances())
    assert bank.inventory().unreachable == []
    assert bank.inventory().missing == []


@pytest.mark.parametrize("is_append", [True, False])
def test_a_compaction_of_other_files_costs_nothing(empty_bank: Bank, is_append: bool) -> None:
    """The files of the change are what they were: it is committed as it is."""
    bank = _two_files(empty_bank)
    change: Change = Append(accounts((4, 5))) if is_append else Rewrite(accounts((11, 5)), keys="id")
    is_first = _is_first(bank)
    meet, told = Meet(bank, change, lambda bank: compact(bank, is_first)), Told()

    receipt = call(bank, meet, observer=told)

    assert (meet.calls, receipt.rebases, _replanned(told)) == (1, 1, [False])
    assert bank.balances() == {**LEFT, **({4: 5} if is_append else {11: 5})}
    assert bank.inventory().unreachable == []


def test_a_compaction_that_drops_delete_files_has_the_files_planned_again(empty_bank: Bank) -> None:
    """Which rows of a file are live is told by what is no data file."""
    bank = _two_files(empty_bank)
    delete_positions(bank, {_path(bank, 1): [0]})
    meet, told = Meet(bank, Rewrite(accounts((2, 5)), keys="id"), compact), Told()

    call(bank, meet, observer=told)

    assert (meet.calls, _replanned(told)) == (1, [True])
    assert bank.balances() == {2: 5, 3: 300, 11: 1_100, 12: 1_200, 13: 1_300}


def test_a_change_after_a_compaction_is_a_change(empty_bank: Bank) -> None:
    """Two rivals, of which the second is no compaction: it moved a row that was read, in the file of the first."""
    bank = _two_files(empty_bank)

    def meanwhile(bank: Bank) -> None:
        compact(bank)
        bank.change(2, bal=7)

    deposit = Deposit(10, lambda: meanwhile(bank), account_id=2)
    receipt = call(bank, deposit)

    assert (len(deposit.bases), receipt.rebases) == (2, 0)
    assert bank.balances() == {**LEFT, 2: 17}


def test_a_harmless_change_before_a_compaction_stays_harmless(empty_bank: Bank) -> None:
    """Each snapshot is compared with its own parent."""
    bank = _two_files(empty_bank)

    def meanwhile(bank: Bank) -> None:
        bank.change(12, bal=7)
        compact(bank)

    deposit, told = Deposit(10, lambda: meanwhile(bank), account_id=2), Told()
    call(bank, deposit, observer=told)

    assert (len(deposit.bases), _replanned(told)) == (1, [True])
    assert bank.balances() == {**LEFT, 2: 210, 12: 7}


def test_a_compaction_hides_no_change_before_it(empty_bank: Bank) -> None:
    """From base to head only a compaction would be seen, if the two were compared; each step is looked at by itself."""
    bank = _two_files(empty_bank)

    def meanwhile() -> None:
        bank.change(2, bal=7)
        compact(bank)

    deposit = Deposit(10, meanwhile, account_id=2)
    receipt = call(bank, deposit)

    assert (len(deposit.bases), receipt.rebases) == (2, 0)
    assert bank.balances() == {**LEFT, 2: 17}


def test_a_harmless_change_after_a_compaction_of_our_file_is_harmless(empty_bank: Bank) -> None:
    """The file of the compaction is no file of the change that came after it."""
    bank = _two_files(empty_bank)
    is_first = _is_first(bank)

    def meanwhile() -> None:
        compact(bank, is_first)
        bank.change(12, bal=7)

    deposit, told = Deposit(10, meanwhile, account_id=2), Told()
    call(bank, deposit, observer=told)

    assert (len(deposit.bases), _replanned(told)) == (1, [True])
    assert bank.balances() == {**LEFT, 2: 210, 12: 7}
    assert bank.inventory().unreachable == []


def test_rivals_one_after_another_cost_a_rebase_each(empty_bank: Bank) -> None:
    """Every attempt meets one more harmless rival; the catalog, not a read, is when it comes."""
    bank = _two_files(empty_bank)
    rivals = [Fault(REPORTS["CommitFailed"](), Landing.NEVER, lambda: bank.change(12, bal=7)) for _ in range(3)]
    catalog, told = bank.connect().fail(*rivals), Told()
    deposit = Deposit(10)

    receipt = call(bank, deposit, catalog=catalog, observer=told)

    assert (len(deposit.bases), receipt.attempts, receipt.rebases) == (1, 4, 3)
    assert _replanned(told) == [False] * 3
    assert bank.balances() == {**LEFT, 1: 110, 12: 7}
    assert bank.inventory().unreachable == []


# Write skew.


@pytest.mark.parametrize("file_per_row", [True, False], ids=["own_file", "shared_file"])
def test_reads_and_writes_that_cross_are_serial(empty_bank: Bank, file_per_row: bool) -> None:
    """Each sets its account to the other's balance plus 1: in a serial order the second reads what the first wrote."""
    bank = empty_bank.create(file_per_row=file_per_row)
    crossing = _Copy(bank, source=1, target=2, meanwhile=lambda: call(bank, _Copy(bank, source=2, target=1)))

    receipt = call(bank, crossing)

    assert crossing.calls == 2
    assert receipt.rebases == 0
    assert bank.balances() == {1: 201, 2: 202, 3: 300}
    assert bank.inventory().unreachable == []


@pytest.mark.parametrize("file_per_row", [True, False], ids=["own_file", "shared_file"])
def test_a_write_that_is_not_read_by_the_other_is_serial_without_recomputation(
    empty_bank: Bank, file_per_row: bool
) -> None:
    """Only one of them depends on the other: account 1 is read and account 2 written by ours, 3 by the rival."""
    bank = empty_bank.create(file_per_row=file_per_row)
    ours = _Copy(bank, source=1, target=2, meanwhile=lambda: call(bank, _Copy(bank, source=2, target=3)))

    receipt = call(bank, ours)

    assert (ours.calls, receipt.rebases) == ((1, 1) if file_per_row else (2, 0))
    assert bank.balances() == {1: 100, 2: 101, 3: 201}


class _Copy:
    """Sets the balance of one account to that of another, plus 1."""

    def __init__(self, bank: Bank, *, source: int, target: int, meanwhile: Callable[[], object] = lambda: None) -> None:
        self._source, self._target, self._meanwhile = source, target, meanwhile
        self.calls = 0

    def __call__(self, base: Base) -> Change:
        self.calls += 1
        balance = base.read(where=f"id == {self._source}")["bal"][0].as_py()
        if self.calls == 1:
            self._meanwhile()
        return Rewrite(accounts((self._target, balance + 1)), keys="id")


# Branches.


def _depositing(bank: Bank, amount: int, *, account_id: int = 1, branch: str) -> Callable[[], None]:
    def rival() -> None:
        call(bank, Deposit(amount, account_id=account_id), branch=branch)

    return rival


def test_a_commit_to_another_branch_is_none_of_ours(bank: Bank) -> None:
    """The branch that is written has not moved: there is no conflict at all."""
    with bank.rival() as catalog:
        table = catalog.load_table(bank.identifier)
        table.manage_snapshots().create_branch(int(str(bank.head())), "audit").commit()
    deposit, told = Deposit(10, _depositing(bank, 1, branch="audit")), Told()

    receipt = call(bank, deposit, observer=told)

    assert (len(deposit.bases), receipt.rebases, told.conflicts) == (1, 0, [])
    assert bank.balances() == {1: 110, 2: 200, 3: 300}
    assert sorted(bank.table().scan().use_ref("audit").to_arrow()["bal"].to_pylist()) == [101, 200, 300]
    assert bank.inventory().unreachable == []


def test_a_branch_is_rebased_on_its_own_commits(empty_bank: Bank) -> None:
    """What was read of it, and what came to it, are its own snapshots, not those of main."""
    bank = _two_files(empty_bank)
    with bank.rival() as catalog:
        table = catalog.load_table(bank.identifier)
        table.manage_snapshots().create_branch(int(str(bank.head())), "audit").commit()
    call(bank, Deposit(5))
    harmless = Deposit(10, _depositing(bank, 1, account_id=12, branch="audit"))
    touching = Deposit(20, _depositing(bank, 2, branch="audit"))

    rebased, reapplied = call(bank, harmless, branch="audit"), call(bank, touching, branch="audit")

    assert (len(harmless.bases), rebased.rebases) == (1, 1)
    assert (len(touching.bases), reapplied.rebases) == (2, 0)
    assert bank.balances() == {**LEFT, 1: 105}
    rows = bank.table().scan().use_ref("audit").to_arrow().to_pylist()
    assert {one["id"]: one["bal"] for one in rows} == {**LEFT, 1: 132, 12: 1_201}


def _forget(bank: Bank, account_id: int, *, times: int = 3) -> None:
    """Deposit with a history of one snapshot, so that no earlier one is left."""
    for _ in range(times):
        call(bank, Deposit(5, account_id=account_id), retention=RetentionPolicy(snapshots_min=1))


@pytest.mark.parametrize(("touched", "calls"), [(11, 1), (1, 2)])
def test_a_base_that_was_expired_is_compared_with_the_head_itself(empty_bank: Bank, touched: int, calls: int) -> None:
    """What both have is as it was, whatever was in between; the tag of the ledger holds the newest snapshot alone."""
    bank = _two_files(empty_bank)
    call(bank, Deposit(1, account_id=11))
    base = bank.head()
    deposit, told = Deposit(7, lambda: _forget(bank, touched)), Told()

    receipt = call(bank, deposit, "it", observer=told)

    assert base not in bank.snapshot_ids()
    assert (len(deposit.bases), receipt.rebases) == (calls, 2 - calls)
    assert bank.balances()[touched] == (1_100 + 1 + 15 if touched == 11 else 100 + 15 + 7)
    assert bank.balances()[1] == 107 + (15 if touched == 1 else 0)
    assert bank.inventory().missing == []


OTHERS: tuple[Row, ...] = ({"id": 2, "bal": 200}, {"id": 3, "bal": 300}, {"id": 4, "bal": 400})


def _forget_and_remove(bank: Bank) -> None:
    """Have no base that was read before any more, nor a manifest that only it had."""
    before = _manifests_of_head(bank)
    _forget(bank, 2)
    for path in before - _manifests_of_head(bank):
        path_of(path).unlink()


@pytest.mark.parametrize("is_partitioned", [False, True], ids=["was read", "is ruled out by its partitions"])
def test_a_base_that_was_expired_and_removed_is_compared_as_far_as_it_matters(
    empty_bank: Bank, is_partitioned: bool
) -> None:
    """No manifest of it is read again."""
    by_id = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id"))
    bank = empty_bank.create(OTHERS, spec=by_id if is_partitioned else UNPARTITIONED_PARTITION_SPEC)
    bank.open_account(1, 100)
    deposit = Deposit(7, lambda: _forget_and_remove(bank))

    call(bank, deposit, "it")

    assert len(deposit.bases) == 1
    assert bank.balances() == {1: 107, 2: 215, 3: 300, 4: 400}


def test_what_was_removed_and_not_looked_into_counts_as_touched(empty_bank: Bank) -> None:
    """It cannot be compared: where there are delete files PyIceberg plans, and nobody else has seen a manifest."""
    bank = empty_bank.create(OTHERS, properties={"commit.manifest-merge.enabled": "false"})
    bank.open_account(1, 100)
    delete_positions(bank, {_path(bank, 4): [2]})
    call(bank, Deposit(1, account_id=2))  # It says what all files add up to, and nobody reads on for that.
    total = _Total(bank, "id == 1", _forget_and_remove)

    call(bank, total, "it")

    assert total.seen == [100, 100]
    assert bank.balances() == {1: 100, 2: 216, 3: 300, 99: 100}


def _manifests_of_head(bank: Bank) -> set[str]:
    table = bank.table()
    head = table.current_snapshot()
    assert head is not None
    return {each.manifest_path for each in head.manifests(table.io)}
