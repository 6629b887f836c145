"""The auditor on real tables: what our commits leave is clean, and what buggy writers leave is named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyiceberg
import pytest
from pyiceberg.expressions import AlwaysTrue, EqualTo
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField

from seriatim.account import commit_with_retry
from seriatim.audit import Bounds, ConstantSum, Invariant, Kind, Status, SumsAsRecorded, UniqueKey, Verdict, audit
from seriatim.commit import Append, Base, Declared, Delete, Partitions, RetentionPolicy, Stream, pinned
from seriatim.commit.reads import encoded
from seriatim.errors import AuditRefusedError
from seriatim.upkeep import compact, fold, maintain
from tests.contract.apply_support import Deposit, Meanwhile, call, opening, settings
from tests.contract.ledger_support import expire, expire_unreferenced, note
from tests.faults.bank import Bank
from tests.faults.delete_files import delete_positions
from tests.faults.files import local_path

MINOR = tuple(map(int, pyiceberg.__version__.split(".")[:2]))
KEEPS_ALL = {"retention": RetentionPolicy(snapshots_min=None)}


def _audit(bank: Bank, *invariants: Invariant, **options: Any) -> Verdict:
    return audit(bank.connect(), bank.identifier, invariants, **options)


def _kinds(verdict: Verdict) -> list[Kind]:
    return [anomaly.kind for anomaly in verdict.anomalies]


def _deposit(bank: Bank, amount: int, *meanwhile: Meanwhile, account_id: int = 1, name: str = "") -> None:
    deposit = Deposit(amount, *meanwhile, account_id=account_id)
    name = name or f"deposit|{account_id}|{amount}"
    call(bank, lambda base: Declared(deposit(base), {"bal": amount}), name, **KEEPS_ALL)


def _transfer(bank: Bank, source: int, target: int, amount: int) -> None:
    deposits = Deposit(-amount, account_id=source), Deposit(amount, account_id=target)
    call(bank, lambda base: [deposit(base) for deposit in deposits], f"transfer|{source}|{target}", **KEEPS_ALL)


class Loop:
    """A plain PyIceberg loop that records what a commit of ours would; it reads, something happens, it writes."""

    def __init__(self, bank: Bank, operation_id: str) -> None:
        self.bank, self.operation_id = bank, operation_id
        self.table = self.load()

    def load(self) -> Table:
        return self.bank.connect().load_table(self.bank.identifier)

    def words(self, base: Table, **more: str) -> dict[str, str]:
        snapshot = base.current_snapshot()
        assert snapshot is not None
        return {
            "seriatim.commit-id": f"commit-of-{self.operation_id}-on-{snapshot.snapshot_id}",
            "seriatim.operation-ids": json.dumps([self.operation_id]),
            "seriatim.base-snapshot-id": str(snapshot.snapshot_id),
            "seriatim.base-sequence-number": str(snapshot.sequence_number),
            **{f"seriatim.{name.replace('_', '-')}": word for name, word in more.items()},
        }

    def balance(self) -> int:
        return int(self.table.scan(row_filter=EqualTo("id", 1)).to_arrow()["bal"][0].as_py())

    def set_balance(self, table: Table, balance: int, words: Mapping[str, str]) -> None:
        rows = pa.Table.from_pylist([{"id": 1, "bal": balance}], schema=table.schema().as_arrow())
        table.overwrite(rows, overwrite_filter=EqualTo("id", 1), snapshot_properties=dict(words))

    def append(self, table: Table, account_id: int, words: Mapping[str, str]) -> None:
        rows = pa.Table.from_pylist([{"id": account_id, "bal": 1}], schema=table.schema().as_arrow())
        table.append(rows, snapshot_properties=dict(words))


def _with_sum(loop: Loop, amount: int) -> dict[str, str]:
    return loop.words(loop.table, reads_json=encoded([EqualTo("id", 1)]), sums=json.dumps({"bal": amount}))


def test_what_overlapping_calls_leave_is_clean(bank: Bank) -> None:
    """Computed again, rebased, pinned, by name, by partition and by stream; every invariant holds after each."""
    _deposit(bank, 5, lambda: _deposit(bank, 7))
    _deposit(bank, 9, lambda: _deposit(bank, 2, account_id=2))
    call(bank, opening(4, 0), partitions=Partitions("opened", ["1993-01-01"]), **KEEPS_ALL)
    call(bank, opening(5, 0), stream=Stream("s", after=None, upto=1), **KEEPS_ALL)
    call(bank, opening(6, 0), stream=Stream("s", after=1, upto=4), **KEEPS_ALL)
    call(bank, lambda base: Delete(where="id == 6"), "close|6", **KEEPS_ALL)
    note(bank, "nothing", **KEEPS_ALL)

    verdict = _audit(bank, UniqueKey("id"), SumsAsRecorded("bal"), Bounds("bal", at_least=0))

    assert (verdict.anomalies, verdict.unjudged, verdict.status) == ((), (), Status.CLEAN)
    assert verdict.snapshots == len(bank.snapshot_ids()) == 10


def test_a_rebase_that_nothing_overtook_is_clean_and_is_looked_into(empty_bank: Bank) -> None:
    """The files of the two accounts differ, so that the change was kept though the table had moved."""
    bank = empty_bank.create(file_per_row=True)
    _deposit(bank, 9, lambda: _deposit(bank, 2, account_id=2))
    table = bank.table()
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    assert "seriatim.computed-on-snapshot-id" in snapshot.summary.additional_properties

    verdict = _audit(bank, UniqueKey("id"))

    assert (verdict.anomalies, verdict.unjudged) == ((), ())


def test_transfers_keep_a_constant_sum(bank: Bank) -> None:
    _transfer(bank, 1, 2, 30)
    _transfer(bank, 2, 3, 50)

    assert _audit(bank, ConstantSum("bal"), UniqueKey("id")).status is Status.CLEAN


def test_pinned_and_commit_with_retry_are_clean(bank: Bank) -> None:
    def twice(table: Table) -> None:
        for account_id in (7, 8):
            rows = [{"id": account_id, "bal": 1}]
            table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))

    pinned(bank.connect(), bank.identifier, twice, operation_ids=["twice"], **settings({}))
    commit_with_retry(bank.connect(), bank.identifier, lambda balance: balance + 1)

    assert _audit(bank).status is Status.CLEAN


def test_what_retention_expired_is_vouched_for(bank: Bank) -> None:
    for number in range(25):
        call(bank, Deposit(1), f"deposit|{number}")

    verdict = _audit(bank, UniqueKey("id"))

    assert verdict.status is Status.CLEAN
    assert (
        verdict.judged_from_snapshot_id == min(verdict.commits, key=lambda each: each.committed_at_ms).snapshot_ids[0]
    )
    assert "the ledger tells" in verdict.notes[0]


def test_a_compaction_is_clean(empty_bank: Bank) -> None:
    bank = empty_bank.create(file_per_row=True)
    compact(bank.connect(), bank.identifier)
    _deposit(bank, 1)
    bank.compact()

    assert _audit(bank, UniqueKey("id")).status is Status.CLEAN


def test_position_deletes_are_rows_that_went(bank: Bank) -> None:
    """Other engines write them; the rows are read as they were, before and after."""
    (task,) = bank.table().scan().plan_files()
    delete_positions(bank, {task.file.file_path: [1]})

    verdict = _audit(bank, ConstantSum("bal"))

    assert _kinds(verdict) == [Kind.FOREIGN_WRITE]
    assert verdict.anomalies[0].rows == ("went: id=2, bal=200",)
    assert _audit(bank, UniqueKey("id")).status is Status.CLEAN


def test_a_column_that_was_added_or_replaced_accuses_nobody(bank: Bank) -> None:
    _deposit(bank, 5)
    bank.add_column()
    call(bank, lambda base: Delete(where="id == 3"), "close|3")
    bank.replace_balance_column(None)

    assert _audit(bank, SumsAsRecorded("bal")).status is Status.CLEAN


def test_a_loop_that_does_not_refresh_loses_an_update(bank: Bank) -> None:
    """It read 100, a deposit made it 110, and it wrote 101 to a table that it had loaded anew."""
    loop = Loop(bank, "stale")
    balance = loop.balance()
    _deposit(bank, 10)
    loop.set_balance(loop.load(), balance + 1, _with_sum(loop, 1))

    verdict = _audit(bank)

    assert _kinds(verdict) == [Kind.LOST_UPDATE]
    by_sum = _audit(bank, UniqueKey("id"), SumsAsRecorded("bal"))
    assert _kinds(by_sum) == [Kind.LOST_UPDATE]  # It is not told once more.
    assert verdict.anomalies[0].operation_ids == ("stale",)
    assert verdict.anomalies[0].rows == ("overwritten: id=1, bal=110", "with: id=1, bal=101")


def test_a_loop_that_reuses_its_value_loses_an_update(bank: Bank) -> None:
    """All that it records is true of the table that it wrote to, but the value is not of that table."""
    loop = Loop(bank, "stale")
    balance = loop.balance()
    _deposit(bank, 10)
    fresh = loop.load()
    loop.set_balance(fresh, balance + 1, loop.words(fresh, sums='{"bal": 1}'))

    verdict = _audit(bank, UniqueKey("id"), SumsAsRecorded("bal"))

    assert _kinds(verdict) == [Kind.LOST_UPDATE]
    assert verdict.anomalies[0].rows == ("id=1: bal was 100, then 110, and was overwritten with 101",)
    assert _audit(bank).status is Status.CLEAN  # Without the invariant nothing tells.


@pytest.mark.skipif(MINOR < (0, 12), reason="older ones do not retry by themselves")
def test_an_append_that_pyiceberg_retried_is_a_write_skew(bank: Bank) -> None:
    """A writer of the highest id plus one: PyIceberg 0.12 lands its row on top of the rival's, with the same id."""
    loop = Loop(bank, "highest")
    call(bank, opening(4, 1), "rival")
    loop.append(loop.table, 4, loop.words(loop.table, reads_json=encoded([AlwaysTrue()])))

    verdict = _audit(bank, UniqueKey("id"))

    assert _kinds(verdict) == [Kind.WRITE_SKEW, Kind.DUPLICATE_KEY]
    assert verdict.anomalies[0].operation_ids == ("highest",)


def test_a_loop_that_takes_a_lost_reply_for_a_failure_applies_twice(bank: Bank) -> None:
    loop = Loop(bank, "again")
    for _ in range(2):
        table = loop.load()
        loop.append(table, 4, loop.words(table))

    verdict = _audit(bank)

    assert _kinds(verdict) == [Kind.DOUBLE_APPLY]
    assert len(verdict.anomalies[0].snapshot_ids) == 2


def test_a_loop_that_repeats_a_request_lands_one_commit_twice(bank: Bank) -> None:
    loop = Loop(bank, "again")
    words = loop.words(loop.table)
    for _ in range(2):
        loop.append(loop.load(), 4, words)

    assert _kinds(_audit(bank, UniqueKey("id"))).count(Kind.DOUBLE_APPLY) == 1


def test_a_loop_that_writes_on_what_it_saw_is_clean(bank: Bank) -> None:
    """PyIceberg's overwrite makes two snapshots, which together are one commit."""
    loop = Loop(bank, "fine")
    loop.set_balance(loop.table, 105, loop.words(loop.load(), sums='{"bal": 5}', rows_added="1", rows_removed="1"))

    assert _audit(bank, UniqueKey("id"), SumsAsRecorded("bal")).status is Status.CLEAN


def test_a_branch_that_is_set_back_into_a_commit_is_torn(bank: Bank) -> None:
    def twice(table: Table) -> None:
        for account_id in (7, 8):
            rows = [{"id": account_id, "bal": 1}]
            table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))

    receipt = pinned(bank.connect(), bank.identifier, twice, operation_ids=["twice"], **settings({}))
    bank.roll_back(receipt.snapshot_ids[0])

    verdict = _audit(bank)
    assert _kinds(verdict) == [Kind.TORN_COMMIT]

    note(bank, "twice")  # Done again, as it counts as not applied; that is no second application.
    assert _kinds(_audit(bank)) == [Kind.TORN_COMMIT]


def test_a_rollback_is_no_anomaly(bank: Bank) -> None:
    """What was taken back is not in the history, nor in its ledger."""
    _deposit(bank, 5)
    back = bank.head()
    _deposit(bank, 6)
    bank.roll_back(back)
    _deposit(bank, 6)

    assert _audit(bank, UniqueKey("id"), SumsAsRecorded("bal")).status is Status.CLEAN


@pytest.mark.parametrize("suffix", ["parquet", "avro"])
def test_a_file_that_is_gone_is_named(bank: Bank, suffix: str) -> None:
    _deposit(bank, 5)
    table = bank.table()
    snapshot = table.current_snapshot()
    assert snapshot is not None
    manifest = snapshot.manifests(table.io)[0]
    data = manifest.fetch_manifest_entry(table.io)[0].data_file.file_path
    location = data if suffix == "parquet" else manifest.manifest_path
    local_path(location).unlink()

    verdict = _audit(bank, UniqueKey("id"))

    assert _kinds(verdict) == [Kind.MISSING_FILE]
    assert location in verdict.anomalies[0].what


def test_a_history_that_others_cut_is_told(bank: Bank) -> None:
    """Without the tag nothing tells what the snapshots that are gone had applied."""
    _deposit(bank, 5)
    bank.deposit(3)
    ours = [one.snapshot_id for one in bank.table().metadata.snapshots if one.snapshot_id != bank.head()]
    expire(bank, ours)

    assert _kinds(_audit(bank)) == [Kind.CUT_HISTORY]


def test_where_a_history_of_format_version_1_begins_cannot_be_judged(empty_bank: Bank) -> None:
    """Nobody is accused of a cut that may not be one; everything after is judged."""
    bank = empty_bank.create(properties={"format-version": "1"})
    call(bank, Deposit(5))

    verdict = _audit(bank, UniqueKey("id"))

    assert (verdict.status, verdict.anomalies, len(verdict.unjudged)) == (Status.CANNOT_BE_JUDGED, (), 1)
    assert "format version 1" in verdict.unjudged[0].why


def test_an_expiry_that_leaves_our_newest_commit_is_vouched_for(bank: Bank) -> None:
    _deposit(bank, 5)
    _deposit(bank, 6)
    expire_unreferenced(bank)

    assert _audit(bank).status is Status.CLEAN


def test_a_stale_write_by_others_shows_in_the_sum(bank: Bank) -> None:
    stale = bank.balances()[1]
    _transfer(bank, 1, 2, 30)
    bank.change(1, bal=stale)

    verdict = _audit(bank, ConstantSum("bal"))

    assert _kinds(verdict) == [Kind.FOREIGN_WRITE]
    assert _audit(bank).status is Status.CANNOT_BE_JUDGED


def test_an_audit_goes_on_where_the_last_one_ended(bank: Bank) -> None:
    _deposit(bank, 5)
    bank.deposit(3)
    first = _audit(bank, ConstantSum("bal"))
    _transfer(bank, 1, 2, 1)

    second = _audit(bank, ConstantSum("bal"), since=first.head_snapshot_id)

    assert (first.status, second.status, second.snapshots) == (Status.ANOMALIES, Status.CLEAN, 1)


def test_an_identifier_tells_rows_apart(empty_bank: Bank) -> None:
    """A row that was deleted meanwhile and is written again is known by the schema's own key."""
    schema = Schema(
        NestedField(1, "id", LongType(), required=True), NestedField(2, "bal", LongType()), identifier_field_ids=[1]
    )
    bank = empty_bank.create(schema=schema)
    loop = Loop(bank, "stale")
    bank.close_account(1)
    loop.set_balance(loop.load(), 101, loop.words(loop.table))

    assert _kinds(_audit(bank)) == [Kind.LOST_UPDATE]


def test_an_invariant_that_does_not_fit_is_refused(bank: Bank) -> None:
    with pytest.raises(AuditRefusedError) as missing:
        _audit(bank, UniqueKey("nr"))

    assert missing.value.column == "nr"


def test_an_empty_table_is_clean(empty_bank: Bank) -> None:
    empty_bank.create([])

    assert _audit(empty_bank, UniqueKey("id"), ConstantSum("bal")).status is Status.CLEAN


def test_words_that_are_damaged_are_told(bank: Bank) -> None:
    loop = Loop(bank, "odd")
    loop.append(loop.table, 4, {**loop.words(loop.table), "seriatim.sums": "none"})

    verdict = _audit(bank)

    assert verdict.status is Status.CANNOT_BE_JUDGED
    assert "cannot be understood" in verdict.unjudged[0].why


def test_a_change_that_reads_what_others_write_is_computed_again_and_clean(bank: Bank) -> None:
    def sum_up(base: Base) -> Any:
        total = sum(base.read(columns=["bal"])["bal"].to_pylist())
        bank_moves.pop()() if bank_moves else None
        return opening(9, total)(base)

    bank_moves = [lambda: _deposit(bank, 5)]
    call(bank, sum_up, "sum", **KEEPS_ALL)

    assert bank.balances()[9] == 605
    assert _audit(bank, UniqueKey("id")).status is Status.CLEAN


def test_files_that_do_not_differ_are_not_needed(empty_bank: Bank) -> None:
    """What older snapshots held is neither read nor looked for when it is not asked for."""
    bank = empty_bank.create()
    old = {task.file.file_path for task in bank.table().scan().plan_files()}
    for number in range(3):
        _deposit(bank, 1, name=f"deposit|{number}")
    snapshots = bank.table().metadata.snapshots
    for location in old:
        local_path(location).unlink()

    assert _audit(bank, UniqueKey("id"), since=snapshots[1].snapshot_id).status is Status.CLEAN
    assert Kind.MISSING_FILE in _kinds(_audit(bank, UniqueKey("id")))


def test_upkeep_leaves_a_clean_table(empty_bank: Bank) -> None:
    bank = empty_bank.create(file_per_row=True)
    _deposit(bank, 1)
    call(bank, opening(4, 0), stream=Stream("s", after=None, upto=1))
    fold(bank.connect(), bank.identifier)
    maintain(bank.connect(), bank.identifier, dry_run=False, retention=RetentionPolicy(snapshots_min=3))
    call(bank, opening(5, 0), stream=Stream("s", after=1, upto=2))

    verdict = _audit(bank, UniqueKey("id"))

    assert (verdict.anomalies, verdict.unjudged) == ((), ())


def test_a_change_that_read_what_came_and_went_again_is_kept_and_clean(empty_bank: Bank) -> None:
    """It has read everything; a rival opens an account, and closes it, before the change lands."""
    bank, sums = (
        empty_bank.create(file_per_row=True, properties={"commit.manifest-merge.enabled": "false"}),
        list[int](),
    )

    def meanwhile() -> None:
        call(bank, opening(7, 5), "open", **KEEPS_ALL)
        call(bank, lambda base: Delete(where="id == 7"), "close", **KEEPS_ALL)

    def total(base: Base) -> Append:
        sums.append(pc.sum(base.read()["bal"]).as_py())
        if len(sums) == 1:
            meanwhile()
        return Append(pa.Table.from_pylist([{"id": 99, "bal": sums[-1]}], schema=base.schema.as_arrow()))

    receipt = call(bank, total, "total", **KEEPS_ALL)

    assert (sums, receipt.rebases) == ([600], 1)
    assert bank.balances() == {1: 100, 2: 200, 3: 300, 99: 600}
    assert _audit(bank, UniqueKey("id")).status is Status.CLEAN
