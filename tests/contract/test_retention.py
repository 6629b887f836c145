"""Expiry in the commit itself: what goes, what stays, and that nothing is applied twice because of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRef
from pyiceberg.table.statistics import PartitionStatisticsFile, StatisticsFile
from pyiceberg.table.update import (
    RemoveSnapshotsUpdate,
    SetPartitionStatisticsUpdate,
    SetSnapshotRefUpdate,
    SetStatisticsUpdate,
)

from seriatim.account import commit_with_retry
from seriatim.commit import Append, apply, pinned
from seriatim.commit.ledger_policy import LedgerPolicy
from seriatim.commit.retention import RetentionPolicy
from seriatim.errors import OutcomeUnknownError
from tests.contract.apply_support import Deposit, call, settings
from tests.contract.ledger_support import commit, expire, expire_unreferenced, note, set_ref
from tests.faults.bank import Bank
from tests.faults.catalog import REPORTS, Fault, Landing
from tests.faults.clock import ManualClock

FIVE = RetentionPolicy(snapshots_min=5)
DAY_S = 24 * 3600


def later(bank: Bank) -> ManualClock:
    """Return a clock by which everything in the table is in the past; it goes on by hand."""
    clock = ManualClock()
    clock.seconds = bank.table().metadata.last_updated_ms / 1000 + 60
    return clock


def deposits(bank: Bank, count: int, *, account_id: int = 1, **options: Any) -> None:
    """Deposit as often, a second after each other."""
    clock = options.pop("clock", None) or later(bank)
    for _ in range(count):
        clock.wait_s(1.0)
        call(bank, Deposit(1, account_id=account_id), clock=clock, **options)


def lineage(table: Table, snapshot_id: int | None) -> list[int]:
    """Return the snapshots from this one to the oldest that is left."""
    ids = []
    while snapshot_id is not None and (snapshot := table.metadata.snapshot_by_id(snapshot_id)) is not None:
        ids.append(snapshot_id)
        snapshot_id = snapshot.parent_snapshot_id
    return ids


def kept(bank: Bank) -> int:
    """Return how many snapshots the table has, none of them beside the lineage of main: there is no hole."""
    table = bank.table()
    line = lineage(table, table.metadata.current_snapshot_id)
    assert set(line) == {snapshot.snapshot_id for snapshot in table.metadata.snapshots}
    assert bank.inventory().missing == []
    return len(line)


# How much is kept.


@pytest.mark.parametrize(("policy", "left"), [(None, 20), (RetentionPolicy(), 20), (FIVE, 5), (RetentionPolicy(1), 1)])
def test_a_branch_keeps_as_many_snapshots_as_the_policy_says(
    bank: Bank, policy: RetentionPolicy | None, left: int
) -> None:
    """Twenty, if nobody says anything; each commit expires what it makes too many."""
    deposits(bank, 22, retention=policy)

    assert kept(bank) == left
    assert bank.balances()[1] == 122


def test_a_policy_without_a_number_keeps_everything(bank: Bank) -> None:
    deposits(bank, 22, retention=RetentionPolicy(None))

    assert kept(bank) == 23


def test_snapshots_of_an_age_are_kept_whatever_their_number(bank: Bank) -> None:
    """`age_s_min`: who reads a snapshot may want it for a while; a snapshot goes when it is older."""
    clock = later(bank)
    policy = RetentionPolicy(snapshots_min=2, age_s_min=10.0)
    deposits(bank, 8, retention=policy, clock=clock)
    assert kept(bank) == 8  # All but the rows of the beginning, which are a minute old.

    clock.wait_s(11.0)
    deposits(bank, 1, retention=policy, clock=clock)

    assert kept(bank) == 2


@pytest.mark.parametrize(
    ("properties", "left"),
    [
        ({"history.expire.min-snapshots-to-keep": "3"}, 3),
        ({"history.expire.min-snapshots-to-keep": "3", "history.expire.max-snapshot-age-ms": "3500"}, 4),
        ({"history.expire.max-snapshot-age-ms": str(DAY_S * 1000)}, 9),
        ({"gc.enabled": "false", "history.expire.min-snapshots-to-keep": "1"}, 9),
        ({"history.expire.min-snapshots-to-keep": "many"}, 9),
        ({"history.expire.min-snapshots-to-keep": "0"}, 1),
    ],
)
def test_what_the_table_says_comes_before_the_policy(bank: Bank, properties: dict[str, str], left: int) -> None:
    """Whoever set it wanted to keep that much; what cannot be read keeps everything."""
    for key, value in properties.items():
        bank.set_property(key, value)

    deposits(bank, 8, retention=FIVE)

    assert kept(bank) == left
    assert bank.table().properties == properties


# What a branch says itself.


def _set_on_main(bank: Bank, **settings: int) -> SnapshotRef:
    head = bank.head()
    assert head is not None
    nothing = {"max_ref_age_ms": None, "max_snapshot_age_ms": None, "min_snapshots_to_keep": None}
    commit(bank, SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=head, **{**nothing, **settings}))
    return bank.table().metadata.refs["main"]


def _append(table: Table) -> None:
    table.append(pa.table({"id": [9], "bal": [9]}))


MOVES: dict[str, Callable[[Bank], object]] = {
    "apply": lambda bank: call(bank, Deposit(1), clock=later(bank)),
    "pinned": lambda bank: pinned(bank.connect(), bank.identifier, _append, clock=later(bank)),
    "pinned, nothing": lambda bank: pinned(bank.connect(), bank.identifier, id, operation_ids=["op"]),
    "account": lambda bank: commit_with_retry(bank.connect(), bank.identifier, lambda balance: balance + 1),
}


@pytest.mark.parametrize("move", MOVES)
def test_a_branch_keeps_its_own_settings_when_it_moves(bank: Bank, move: str) -> None:
    """PyIceberg's own commits drop them."""
    before = _set_on_main(bank, min_snapshots_to_keep=3, max_snapshot_age_ms=1, max_ref_age_ms=DAY_S * 1000)

    MOVES[move](bank)

    after = bank.table().metadata.refs["main"]
    assert after.snapshot_id != before.snapshot_id
    assert after.model_copy(update={"snapshot_id": 0}) == before.model_copy(update={"snapshot_id": 0})


def test_what_a_branch_says_comes_before_what_the_table_says(bank: Bank) -> None:
    bank.set_property("history.expire.min-snapshots-to-keep", "2")
    _set_on_main(bank, min_snapshots_to_keep=3)

    deposits(bank, 8)

    assert kept(bank) == 3


# What others hold.


def test_a_tag_and_another_branch_hold_what_they_hold(bank: Bank) -> None:
    """A tag its snapshot, a branch its whole lineage; both can be read after their time on main is over."""
    deposits(bank, 2)
    commit(bank, set_ref("audit", bank.head() or 0, "tag"))
    tagged = bank.head()
    deposits(bank, 3)
    commit(bank, set_ref("side", bank.head() or 0))
    of_side = lineage(bank.table(), bank.head())

    deposits(bank, 9, retention=RetentionPolicy(2))

    table = bank.table()
    assert table.metadata.refs["audit"].snapshot_id == tagged
    assert lineage(table, table.metadata.refs["side"].snapshot_id) == of_side
    assert len(table.metadata.snapshots) == len(of_side) + 2
    assert table.scan(snapshot_id=tagged).to_arrow().num_rows == 3


def test_a_branch_expires_its_own_snapshots_and_none_of_main(bank: Bank) -> None:
    """Commits to a branch: what it has in common with main stays."""
    commit(bank, set_ref("side", bank.head() or 0))
    deposits(bank, 2, retention=RetentionPolicy(None))
    of_main = lineage(bank.table(), bank.head())

    deposits(bank, 6, retention=RetentionPolicy(2), branch="side")

    table = bank.table()
    assert lineage(table, bank.head()) == of_main
    assert len(lineage(table, table.metadata.refs["side"].snapshot_id)) == 2


def test_a_tag_that_is_set_in_the_same_commit_holds_its_snapshot(bank: Bank) -> None:
    """`pinned` may tag what the commit would otherwise expire; the tag would go with it."""
    deposits(bank, 4)
    oldest = bank.snapshot_ids()[0]

    def append_and_tag(table: Table) -> None:
        _append(table)
        table.manage_snapshots().create_tag(oldest, "oldest").commit()

    pinned(bank.connect(), bank.identifier, append_and_tag, retention=RetentionPolicy(1), clock=later(bank))

    assert bank.table().metadata.refs["oldest"].snapshot_id == oldest
    assert len(bank.snapshot_ids()) == 2


# Statistics.


@pytest.mark.parametrize("recent_max", [0, 32])
def test_a_snapshot_with_statistics_can_go(bank: Bank, recent_max: int) -> None:
    """Those that somebody else made, and those by which our ledger file is registered."""
    deposits(bank, 2)
    oldest = bank.snapshot_ids()[0]
    commit(bank, _column_statistics(oldest), _partition_statistics(oldest))

    clock = later(bank)
    for number in range(4):
        clock.wait_s(1.0)
        policy = LedgerPolicy(recent_max=recent_max)
        call(bank, Deposit(1), f"op {number}", retention=RetentionPolicy(1), ledger=policy, clock=clock)

    metadata = bank.table().metadata
    assert kept(bank) == 1
    assert {file.snapshot_id for file in metadata.statistics} <= {bank.head()}
    assert metadata.partition_statistics == []


def test_statistics_of_somebody_else_stay_though_an_older_commit_has_some_of_ours(bank: Bank) -> None:
    """ANALYZE took the place of our registration; that a tagged commit kept its own makes this one none of ours."""
    always = LedgerPolicy(recent_max=0)
    note(bank, "first", ledger=always)
    (held,) = note(bank, "held", ledger=always).snapshot_ids
    commit(bank, set_ref("held", held, "tag"))
    (analyzed,) = note(bank, "analyzed", ledger=always).snapshot_ids
    commit(bank, _column_statistics(analyzed))

    (head,) = note(bank, "next", ledger=always).snapshot_ids

    registered = {one.snapshot_id: one.statistics_path for one in bank.table().metadata.statistics}
    assert registered.keys() == {held, analyzed, head}
    assert registered[analyzed] == "file:///s"


def _column_statistics(snapshot_id: int) -> SetStatisticsUpdate:
    fields = {"snapshot-id": snapshot_id, "statistics-path": "file:///s", "file-size-in-bytes": 1}
    file = StatisticsFile(**{**fields, "file-footer-size-in-bytes": 1, "blob-metadata": []})
    return SetStatisticsUpdate(statistics=file)


def _partition_statistics(snapshot_id: int) -> SetPartitionStatisticsUpdate:
    fields = {"snapshot-id": snapshot_id, "statistics-path": "file:///p", "file-size-in-bytes": 1}
    return SetPartitionStatisticsUpdate(partition_statistics=PartitionStatisticsFile(**fields))


# Rivals, and `pinned`.


def test_a_rival_that_expires_the_same_snapshot_costs_an_attempt_and_doubles_nothing(bank: Bank) -> None:
    """The catalog cannot expire what is gone: the commit fails as a whole, and is made again from what is left."""
    deposits(bank, 5, retention=FIVE)
    oldest = bank.snapshot_ids()[0]
    deposit = Deposit(10, lambda: expire(bank, [oldest]))

    receipt = call(bank, deposit, "op", retention=FIVE, clock=later(bank))

    assert receipt.attempts == 2
    assert bank.balances()[1] == 115
    assert kept(bank) == 5


def test_a_pinned_call_of_several_snapshots_is_kept_as_one(bank: Bank) -> None:
    """All of them are newer than what they expire; a bound below their number takes none of them."""
    deposits(bank, 6)

    def thrice(table: Table) -> None:
        for _ in range(3):
            _append(table)

    receipt = pinned(
        bank.connect(), bank.identifier, thrice, operation_ids=["op"], retention=RetentionPolicy(2), clock=later(bank)
    )

    assert len(receipt.snapshot_ids) == 3
    assert lineage(bank.table(), bank.head()) == list(reversed(receipt.snapshot_ids))
    assert kept(bank) == 3


def test_a_pinned_call_that_expires_itself_is_not_added_to(bank: Bank) -> None:
    """It has said what is to go."""
    deposits(bank, 6)
    oldest = bank.snapshot_ids()[0]

    def append_and_expire(table: Table) -> None:
        _append(table)
        update = RemoveSnapshotsUpdate(snapshot_ids=[oldest])
        table.metadata = table.catalog.commit_table(table, (), (update,)).metadata

    pinned(bank.connect(), bank.identifier, append_and_expire, retention=RetentionPolicy(2), clock=later(bank))

    assert kept(bank) == 7


# What was applied stays known.


def test_an_operation_is_known_after_its_snapshot_was_expired_by_us(bank: Bank) -> None:
    """The ledger carries it on: by the words of the commits, and by its file once there are many."""
    call(bank, Deposit(10), "op", clock=later(bank))
    for number in range(40):
        note(bank, f"other {number}", retention=RetentionPolicy(2), clock=later(bank))

    receipt = call(bank, Deposit(10), "op", clock=later(bank))

    assert receipt.is_noop
    assert len(bank.snapshot_ids()) <= 3
    assert bank.balances()[1] == 110


def _begun_by_us(bank: Bank, format_version: int) -> Bank:
    """Three accounts; of a table of format version 1 only we can tell where its history begins."""
    bank.create((), properties={"format-version": str(format_version)})
    rows = pa.table({"id": [1, 2, 3], "bal": [100, 200, 300]})
    call(bank, lambda base: Append(rows), clock=later(bank))
    return bank


@pytest.mark.parametrize("report", ["CommitFailed", "StateUnknown"])
@pytest.mark.parametrize("format_version", [1, 2])
def test_a_named_commit_whose_reply_was_lost_is_found_though_its_snapshot_is_gone(
    empty_bank: Bank, format_version: int, report: str
) -> None:
    """Others have landed 25 commits meanwhile, each of which expired one: the ledger tells."""
    bank = _begun_by_us(empty_bank, format_version)
    fault = Fault(REPORTS[report](), Landing.AT_ONCE, lambda: deposits(bank, 25, account_id=2))
    catalog = bank.connect().fail(fault)

    receipt = call(bank, Deposit(10), "op", catalog=catalog, clock=later(bank))

    assert catalog.script_is_done
    assert bank.balances() == {1: 110, 2: 225, 3: 300}
    assert not set(receipt.snapshot_ids) & set(bank.snapshot_ids())
    assert receipt.snapshot_ids or receipt.already_applied


@pytest.mark.parametrize("format_version", [1, 2])
def test_without_a_name_the_same_is_unknown(empty_bank: Bank, format_version: int) -> None:
    """Nothing tells any more whether it has landed; it is not done again, and nothing of it is removed."""
    bank = _begun_by_us(empty_bank, format_version)
    fault = Fault(REPORTS["StateUnknown"](), Landing.AT_ONCE, lambda: deposits(bank, 25, account_id=2))

    with pytest.raises(OutcomeUnknownError):
        apply(bank.connect().fail(fault), bank.identifier, Deposit(10), **settings({"clock": later(bank)}))

    assert bank.balances() == {1: 110, 2: 225, 3: 300}
    assert bank.inventory().missing == []


def test_a_cut_history_is_not_cut_further(bank: Bank) -> None:
    """The commit carries no ledger, and what it would expire may be the last trace of an operation."""
    for _ in range(4):
        bank.deposit(1)
    expire_unreferenced(bank)
    for _ in range(4):
        bank.deposit(1)
    before = bank.snapshot_ids()

    call(bank, lambda base: Append(pa.table({"id": [9], "bal": [9]})), retention=RetentionPolicy(1), clock=later(bank))

    assert bank.snapshot_ids()[:-1] == before
