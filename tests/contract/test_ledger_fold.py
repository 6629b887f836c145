"""Folding: what would be too much for a summary goes into an immutable file, and nothing is left of folds that lost."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from pyiceberg.table import Table
from pyiceberg.table.update import RemoveStatisticsUpdate

from seriatim.commit import Base, NoChange, Receipt, RetryPolicy, apply, ledger_file, pinned
from seriatim.commit.ledger_policy import LedgerPolicy
from seriatim.errors import LedgerUnreadableError, OperationTooOldError
from tests.contract.apply_support import Deposit, call, settings
from tests.contract.ledger_support import (
    commit,
    expire_unreferenced,
    head,
    ledger_files,
    metadata_bytes,
    named_files,
    note,
    recent_ids,
    referenced_files,
    roll_back,
    set_ref,
    words,
)
from tests.faults.bank import Bank
from tests.faults.catalog import REPORTS, Fault, FaultyCatalog, Landing
from tests.faults.clock import ManualClock

ALWAYS = LedgerPolicy(recent_max=0)


def test_the_commit_that_would_carry_too_much_folds(bank: Bank) -> None:
    """The names before it move into the file; it carries none, and the next one carries its own."""
    policy = LedgerPolicy(recent_max=3)
    for number in range(4):
        note(bank, f"op {number}", ledger=policy)
    assert recent_ids(head(bank)) == ["op 0", "op 1", "op 2"]
    assert ledger_files(bank) == []

    note(bank, "op 4", ledger=policy)
    assert recent_ids(head(bank)) == []
    (file,) = ledger_files(bank)
    content = file.read_bytes()
    assert ledger_file.decoded(content).ids["operation_id"].to_pylist() == [f"op {number}" for number in range(4)]

    for number in range(5, 9):
        note(bank, f"op {number}", ledger=policy)
    assert len(ledger_files(bank)) == 2
    assert file.read_bytes() == content


def test_the_summary_is_bounded_by_bytes_too(bank: Bank) -> None:
    """Long ids fold earlier."""
    policy = LedgerPolicy(recent_bytes_max=400)
    for number in range(12):
        note(bank, f"{number:0100}", ledger=policy)
        assert len(words(head(bank)).get("seriatim.recent", "")) <= 400

    assert note(bank, *[f"{number:0100}" for number in range(12)]).is_noop


def test_the_file_is_registered_with_the_newest_commit(bank: Bank) -> None:
    """As statistics of its snapshot, which other engines' orphan removal spares; once, however many commits name it."""
    note(bank, "a")
    for number in range(6):
        note(bank, f"op {number}", ledger=LedgerPolicy(recent_max=2))

    (registered,) = bank.table().metadata.statistics
    named = words(head(bank))
    assert registered.snapshot_id == bank.head()
    assert registered.statistics_path == named["seriatim.ledger"]
    assert named["seriatim.ledger-bytes"] == (f"{registered.file_size_in_bytes}/{registered.file_footer_size_in_bytes}")
    assert referenced_files(bank)[0].stat().st_size == registered.file_size_in_bytes
    assert registered.blob_metadata == []


def test_somebody_elses_statistics_take_nothing_from_the_ledger(bank: Bank) -> None:
    """ANALYZE registers its own file instead: the summary still names ours, and the next commit registers it."""
    for number in range(3):
        note(bank, f"op {number}", ledger=LedgerPolicy(recent_max=1))
    commit(bank, RemoveStatisticsUpdate(snapshot_id=head(bank).snapshot_id))

    assert note(bank, "op 0").is_noop
    note(bank, "next")
    assert [str(path) for path in referenced_files(bank)] == [str(path) for path in ledger_files(bank)]


@pytest.mark.parametrize("how", ["rewrite", "pinned"])
def test_a_fold_that_lost_leaves_no_file(bank: Bank, how: str) -> None:
    """A rival gets in between: the file of the attempt that died goes with its manifests."""
    note(bank, "a")
    if how == "rewrite":
        call(bank, Deposit(10, lambda: bank.deposit(5)), "b", ledger=ALWAYS)
    else:
        rivals = [lambda: bank.deposit(5)]

        def append(table: Table) -> None:
            table.append(table.scan().to_arrow().slice(0, 1))
            if rivals:
                rivals.pop()()

        pinned(bank.connect(), bank.identifier, append, operation_ids=["b"], ledger=ALWAYS, **settings({}))

    assert len(ledger_files(bank)) == 1
    assert ledger_files(bank) == referenced_files(bank)
    assert bank.inventory().unreachable == []
    assert note(bank, "a", "b").is_noop


def test_a_snapshot_that_somebody_marked_keeps_its_registration(bank: Bank) -> None:
    """A tag of theirs on a commit of ours: who rolls back to it finds its ledger file, whatever was swept meanwhile."""
    for number in range(3):
        note(bank, f"op {number}", ledger=ALWAYS)
    marked_id = head(bank).snapshot_id
    commit(bank, set_ref("release", marked_id, "tag"))
    for number in range(3, 6):
        note(bank, f"op {number}", ledger=ALWAYS)
    for file in set(ledger_files(bank)) - set(referenced_files(bank)):
        file.unlink()
    ledger_file.forget_all()
    roll_back(bank, marked_id)

    assert len(ledger_files(bank)) == 2
    assert note(bank, "op 0", "op 1", "op 2").is_noop
    assert not note(bank, "op 3").is_noop


@pytest.mark.parametrize("landing", list(Landing))
@pytest.mark.parametrize("report", REPORTS)
def test_a_fold_whose_reply_was_lost_is_kept_or_goes_with_its_commit(bank: Bank, report: str, landing: Landing) -> None:
    """P5 holds for the ledger file as for any other: what may have landed stays, what is dead goes."""
    note(bank, "a")
    catalog = bank.connect().fail(Fault(REPORTS[report](), landing))

    call(bank, Deposit(10), "b", catalog=catalog, ledger=ALWAYS)
    catalog.deliver()
    ledger_file.forget_all()

    assert catalog.script_is_done
    assert bank.balances()[1] == 110
    assert note(bank, "a", "b").is_noop
    assert len(ledger_files(bank)) == 1
    assert ledger_files(bank) == referenced_files(bank)
    assert bank.inventory().missing == []


def test_a_call_that_commits_nothing_writes_no_ledger_file(bank: Bank) -> None:
    """The file is written when the commit is about to be submitted, and not before."""
    note(bank, "a")

    receipt = pinned(bank.connect(), bank.identifier, lambda table: None, ledger=ALWAYS, **settings({}))

    assert receipt.is_noop
    assert ledger_files(bank) == []


def test_a_change_that_raises_leaves_no_ledger_file(bank: Bank) -> None:
    """P7: nothing at all is left."""
    note(bank, "a")

    with pytest.raises(RuntimeError):
        call(bank, Deposit(10, _raise), "b", ledger=ALWAYS)

    assert ledger_files(bank) == []


def test_a_ledger_file_that_cannot_be_written_stops_the_commit(bank: Bank) -> None:
    """The error comes out as it is, and nothing is written."""
    note(bank, "a")
    before = bank.head()
    catalog = _OwnIO(bank, _FullDisk)

    with pytest.raises(OSError, match="full"):
        call(bank, Deposit(10), "b", catalog=catalog, ledger=ALWAYS)

    assert bank.head() == before
    assert ledger_files(bank) == []
    assert bank.inventory().unreachable == []


def test_killed_between_ledger_file_and_commit(bank: Bank) -> None:
    """An orphan is left, and nothing else: the same operation is applied once by whoever comes next."""
    note(bank, "a")
    before = bank.head()
    spawn = multiprocessing.get_context("spawn")
    process = spawn.Process(target=_die_before_the_commit, args=(bank.path,))
    process.start()
    process.join(120)

    assert process.exitcode == 9
    assert bank.head() == before
    (orphan,) = ledger_files(bank)
    assert referenced_files(bank) == []
    assert not call(bank, Deposit(10), "b", ledger=ALWAYS).is_noop
    assert call(bank, Deposit(10), "a", "b", ledger=ALWAYS).is_noop
    assert bank.balances()[1] == 110
    assert set(ledger_files(bank)) == {orphan, *named_files(bank)}


def test_two_threads_that_fold_at_once(bank: Bank) -> None:
    """One wins, the other computes anew and folds on top of it; only files that a commit names are left."""
    for number in range(4):
        note(bank, f"op {number}", ledger=LedgerPolicy(recent_max=100))
    barrier = threading.Barrier(2, timeout=60)

    def deposit(name: str) -> Receipt:
        return call(bank, Deposit(10, lambda: _discard(barrier.wait())), name, ledger=ALWAYS)

    with ThreadPoolExecutor(2) as pool:
        receipts = list(pool.map(deposit, ["left", "right"]))

    assert sorted(receipt.attempts for receipt in receipts) == [1, 2]
    assert bank.balances()[1] == 120
    assert ledger_files(bank) == named_files(bank)
    expire_unreferenced(bank)
    assert len(referenced_files(bank)) == 1
    ledger_file.forget_all()
    assert note(bank, "left", "right", *[f"op {number}" for number in range(4)]).is_noop


@pytest.mark.parametrize("policy", [LedgerPolicy(), ALWAYS])
def test_a_zombie_a_retry_and_a_reexecution_at_once(bank: Bank, policy: LedgerPolicy) -> None:
    """One wins; the others say that it was already applied, and by which snapshot."""
    note(bank, "a")
    barrier = threading.Barrier(3, timeout=60)

    def deposit(_: int) -> Receipt:
        return call(bank, Deposit(10, lambda: _discard(barrier.wait())), "same", ledger=policy)

    with ThreadPoolExecutor(3) as pool:
        receipts = list(pool.map(deposit, range(3)))

    (winner,) = (receipt for receipt in receipts if not receipt.is_noop)
    assert bank.balances()[1] == 110
    assert all(
        receipt.already_applied == {"same": winner.snapshot_ids[-1]} for receipt in receipts if receipt is not winner
    )
    assert ledger_files(bank) == referenced_files(bank)
    assert bank.inventory().unreachable == []


def test_ids_leave_the_ledger_with_the_window(bank: Bank) -> None:
    """One that was issued before what the ledger remembers is refused; one that was issued since is not there."""
    clock, policy = ManualClock(), LedgerPolicy(window_s=10, recent_max=0)
    _note_at(bank, clock, 100.0, "old", policy)
    _note_at(bank, clock, 100.001, "edge", policy)
    _note_at(bank, clock, 110.001, "folds", policy)  # Keeps what was applied in the last ten seconds.

    assert _deposit_issued_at(bank, clock, "edge", 0).is_noop
    with pytest.raises(OperationTooOldError) as caught:
        _deposit_issued_at(bank, clock, "old", 100_000)
    assert not _deposit_issued_at(bank, clock, "new", 100_001).is_noop

    assert (caught.value.issued_at_ms, caught.value.forgotten_until_ms) == (100_000, 100_001)
    assert caught.value.operation_ids == ("old",)
    assert bank.balances()[1] == 110


def test_what_was_forgotten_stays_forgotten(bank: Bank) -> None:
    """A longer window, or later folds that drop nothing, bring nothing back."""
    clock, policy = ManualClock(), LedgerPolicy(window_s=10, recent_max=0)
    _note_at(bank, clock, 100.0, "old", policy)
    _note_at(bank, clock, 200.0, "folds", policy)
    for seconds in (201.0, 202.0, 203.0):
        _note_at(bank, clock, seconds, f"at {seconds}", LedgerPolicy(window_s=1_000, recent_max=0))

    with pytest.raises(OperationTooOldError):
        _deposit_issued_at(bank, clock, "old", 100_000)


def test_an_operation_is_remembered_from_when_it_was_issued(bank: Bank) -> None:
    """The issuer's clock may be ahead of the writer's: an id never counts as applied before it was issued."""
    clock, policy = ManualClock(), LedgerPolicy(window_s=10, recent_max=0)
    clock.seconds = 100.0
    note(bank, "from the future", issued_at_ms=105_000, clock=clock, ledger=policy)
    _note_at(bank, clock, 114.0, "folds", policy)

    assert _deposit_issued_at(bank, clock, "from the future", 105_000).is_noop
    _note_at(bank, clock, 116.0, "folds again", policy)
    with pytest.raises(OperationTooOldError):
        _deposit_issued_at(bank, clock, "from the future", 105_000)


def test_a_writer_whose_clock_is_far_ahead_forgets_but_says_so(bank: Bank) -> None:
    """What it dropped is refused afterwards, and not applied again."""
    clock, policy = ManualClock(), LedgerPolicy(recent_max=0)
    _note_at(bank, clock, 100.0, "a", policy)
    _note_at(bank, clock, 1e9, "from 2001", policy)

    with pytest.raises(OperationTooOldError):
        _deposit_issued_at(bank, clock, "a", 100_000)
    assert bank.balances()[1] == 100


@pytest.mark.parametrize("damage", ["gone", "cut short", "no Puffin", "a newer format"])
def test_a_ledger_file_that_cannot_be_read_fails_closed(bank: Bank, damage: str) -> None:
    """What is not in the summaries cannot be told; what is there is told all the same."""
    for number in range(2):
        note(bank, f"op {number}", ledger=LedgerPolicy(recent_max=0))
    note(bank, "op 2", ledger=LedgerPolicy(recent_max=0))
    ledger_file.forget_all()
    newest = _path_of_ledger(bank)
    _damage(newest, damage)

    assert note(bank, "op 2").is_noop
    with pytest.raises(LedgerUnreadableError) as caught:
        call(bank, Deposit(10), "op 0")

    assert caught.value.location == words(head(bank))["seriatim.ledger"]
    assert bank.balances()[1] == 100
    clock = ManualClock()
    clock.seconds = 50.0
    repair = LedgerPolicy(accepts_cut_history=True)
    assert not note(bank, "repair", ledger=repair, clock=clock).is_noop
    assert note(bank, "op 2").is_noop
    with pytest.raises(OperationTooOldError):
        call(bank, Deposit(10), "op 0", issued_at_ms=49_999)


def test_words_of_a_newer_format_are_not_read(bank: Bank) -> None:
    """An older Seriatim does not guess what a newer one means."""
    with bank.rival() as catalog:
        table = catalog.load_table(bank.identifier)
        table.append(table.scan().to_arrow().slice(0, 0), snapshot_properties={"seriatim.ledger-format": "2"})

    with pytest.raises(LedgerUnreadableError, match="newer"):
        note(bank, "op")


def test_a_caller_cannot_speak_for_the_ledger(bank: Bank) -> None:
    """What the function given to `pinned` puts into a summary under our names is dropped."""
    note(bank, "a")
    forged = {"seriatim.ledger": "file:///nowhere", "seriatim.stream": '["s",null,5]', "mine": "kept"}

    def append(table: Table) -> None:
        table.append(table.scan().to_arrow().slice(0, 1), snapshot_properties=forged)

    pinned(bank.connect(), bank.identifier, append, operation_ids=["b"], **settings({}))

    summary = head(bank).summary
    assert summary is not None
    assert summary.additional_properties["mine"] == "kept"
    assert not {"seriatim.ledger", "seriatim.stream"} & set(words(head(bank)))
    assert note(bank, "a", "b").is_noop


def test_half_a_commit_has_not_applied_its_operation(bank: Bank) -> None:
    """PyIceberg's overwrite is two snapshots. A table that is set back to the first has lost the rows."""
    note(bank, "before")

    def overwrite(table: Table) -> None:
        rows = table.scan(row_filter="id == 1").to_arrow()
        table.overwrite(rows.set_column(1, "bal", [[150]]), overwrite_filter="id == 1")

    receipt = pinned(bank.connect(), bank.identifier, overwrite, operation_ids=["op"], **settings({}))
    assert note(bank, "op").is_noop
    assert len(receipt.snapshot_ids) == 2
    roll_back(bank, receipt.snapshot_ids[0])
    assert 1 not in bank.balances()

    assert note(bank, "before").is_noop
    assert not note(bank, "op").is_noop


def test_a_lookup_reads_one_file_however_many_ids_there_are(bank: Bank) -> None:
    """And that once in a process, until there is a new one."""
    for number in range(6):
        note(bank, f"op {number}", ledger=ALWAYS)
    catalog = _OwnIO(bank, _Counting)
    ledger_file.forget_all()
    _Counting.opened.clear()

    note(bank, "new", catalog=catalog)
    first = [place for place in _Counting.opened if place.endswith(".stats")]
    note(bank, "op 0", catalog=catalog)

    assert first == [words(head(bank))["seriatim.ledger"]]
    assert [place for place in _Counting.opened if place.endswith(".stats")] == first


@pytest.mark.slow
def test_ten_thousand_operations_cost_no_more_than_a_few(bank: Bank) -> None:
    """Metadata, summaries, files read and written: the same at the end as at the beginning, but for the ledger file."""
    ids = [f"bank/cash_deposit|1993-01-05|run={number:032x}" for number in range(10_000)]
    sizes: list[int] = []
    for start in range(0, len(ids), 500):
        note(bank, *ids[start : start + 500])
        note(bank, f"between {start}")
        expire_unreferenced(bank)
        sizes.append(metadata_bytes(bank.table()))
    for number in range(40):
        note(bank, f"small {number}")
        assert len(json.dumps(words(head(bank)))) < 4_096
    expire_unreferenced(bank)
    catalog = _OwnIO(bank, _Counting)
    ledger_file.forget_all()
    _Counting.opened.clear()

    note(bank, "new", catalog=catalog)

    assert max(sizes[2:]) < 1.2 * min(sizes[2:])
    assert sum(place.endswith(".stats") for place in _Counting.opened) == 1
    assert len(_Counting.opened) <= 4
    assert _path_of_ledger(bank).stat().st_size < 600_000
    assert note(bank, *ids).is_noop


def _note_at(bank: Bank, clock: ManualClock, seconds: float, name: str, policy: LedgerPolicy) -> None:
    clock.seconds = seconds
    note(bank, name, clock=clock, ledger=policy)


def _deposit_issued_at(bank: Bank, clock: ManualClock, name: str, issued_at_ms: int) -> Receipt:
    return call(bank, Deposit(10), name, issued_at_ms=issued_at_ms, clock=clock)


def _path_of_ledger(bank: Bank) -> Path:
    return Path(words(head(bank))["seriatim.ledger"].removeprefix("file://"))


def _damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    match how:
        case "gone":
            path.unlink()
        case "cut short":
            path.write_bytes(content[:-20])
        case "no Puffin":
            path.write_bytes(b"nothing of the kind")
        case _:
            path.write_bytes(content.replace(b"seriatim-ledger-v1", b"seriatim-ledger-v2"))


class _OwnIO(FaultyCatalog):
    """A catalog whose tables read and write through a `FileIO` of the test's."""

    def __init__(self, bank: Bank, wrap: Callable[[FileIO], FileIO]) -> None:
        self._wrap = wrap
        super().__init__("bank", **bank.properties())
        bank._connections.append(self)

    def load_table(self, identifier: Any) -> Table:
        table = super().load_table(identifier)
        table.io = self._wrap(table.io)
        return table


class _Through(PyArrowFileIO):
    """A `FileIO` that hands everything on."""

    def __init__(self, io: FileIO) -> None:
        super().__init__(io.properties)


class _FullDisk(_Through):
    """Has no room for ledger files."""

    def new_output(self, location: str) -> PyArrowFile:
        if location.endswith(".stats"):
            raise OSError("the disk is full")
        return super().new_output(location)


class _Counting(_Through):
    """Remembers what was opened for reading."""

    opened: list[str] = []  # noqa: RUF012  # Of every instance: each load makes one.

    def new_input(self, location: str) -> PyArrowFile:
        self.opened.append(location)
        return super().new_input(location)


class _Deadly(FaultyCatalog):
    """Ends its process when a commit comes in."""

    def commit_table(self, *request: Any) -> Any:
        os._exit(9)


def _die_before_the_commit(path: Path) -> None:
    catalog = _Deadly("bank", **Bank(path).properties())
    apply(catalog, Bank.identifier, _nothing, operation_ids=["b"], ledger=ALWAYS, policy=RetryPolicy(attempts_max=1))


def _nothing(base: Base) -> NoChange:
    return NoChange()


def _discard(value: object) -> None:
    del value


def _raise() -> None:
    raise RuntimeError("the caller's")
