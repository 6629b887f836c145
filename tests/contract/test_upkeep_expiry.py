"""`expire`: each branch keeps what it says, and what anybody holds stays."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import SetSnapshotRefUpdate

from seriatim.commit import LedgerPolicy, RetentionPolicy, RetryPolicy
from seriatim.errors import TableReplacedError
from seriatim.upkeep import ExpiryReport, expire, fold
from tests.contract.apply_support import Deposit, call, opening
from tests.contract.ledger_support import TAG, commit, expire_unreferenced, note, set_ref, tagged
from tests.contract.upkeep_support import readings
from tests.faults.bank import Bank
from tests.faults.catalog import FaultyCatalog
from tests.faults.clock import ManualClock

NEVER = RetentionPolicy(snapshots_min=None)
DAY_S = 24 * 3600.0


def at(days_later: float, bank: Bank) -> ManualClock:
    """Return a clock that is so many days after the table's last commit."""
    clock = ManualClock()
    clock.seconds = bank.table().metadata.last_updated_ms / 1000 + days_later * DAY_S
    return clock


def run(bank: Bank, keep: int | None = 1, catalog: Any = None, **options: Any) -> ExpiryReport:
    """Expire, for good, a day after the last commit."""
    options = {
        "dry_run": False,
        "retention": RetentionPolicy(snapshots_min=keep),
        "clock": at(1, bank),
        "chance": random.Random(1),
        **options,
    }
    return expire(catalog or bank.connect(), bank.identifier, **options)


def deposits(bank: Bank, count: int) -> list[int]:
    """Deposit by Seriatim, without its own expiry; return the snapshots."""
    return [call(bank, Deposit(1), f"it-{number}", retention=NEVER).snapshot_ids[0] for number in range(count)]


def test_a_branch_keeps_its_newest_snapshots_and_they_read_as_before(bank: Bank) -> None:
    """The older ones go, and nothing else changes: properties that others set stay."""
    bank.set_property("theirs", "1")
    made = deposits(bank, 5)
    before, properties = readings(bank.table()), bank.table().properties

    report = run(bank, keep=2)

    assert bank.snapshot_ids() == made[-2:]
    assert report.expired == tuple(id_ for id_ in before if id_ not in made[-2:])
    assert report.retained == {"main": 2}
    assert readings(bank.table()) == {id_: before[id_] for id_ in made[-2:]}
    assert bank.table().properties == properties
    assert call(bank, Deposit(1), "it-0", retention=NEVER).is_noop


def test_a_table_of_format_version_1_is_expired(empty_bank: Bank) -> None:
    """It has no sequence numbers; the order of its snapshots is that of their times."""
    bank = empty_bank.create([], properties={"format-version": "1"})
    call(bank, opening(1, 100), "open")  # Of others' snapshots there nothing proves that they are the first.
    before = bank.snapshot_ids() + deposits(bank, 3)

    assert run(bank, keep=1).expired == tuple(before[:-1])
    assert bank.balances()[1] == 103


def test_a_dry_run_says_the_same_and_commits_nothing(bank: Bank) -> None:
    """It is the default."""
    made = deposits(bank, 3)
    catalog, before = bank.connect(), bank.table().metadata_location

    report = expire(catalog, bank.identifier, retention=RetentionPolicy(snapshots_min=1), clock=at(1, bank))

    assert (report.is_dry_run, report.attempts, len(report.expired)) == (True, 0, 3)
    assert made[-1] not in report.expired
    assert bank.table().metadata_location == before
    assert catalog.submitted == []


def test_nothing_to_expire_is_no_commit(bank: Bank) -> None:
    """The metadata file is not written for nothing."""
    before = bank.table().metadata_location

    assert run(bank, keep=20).expired == ()
    assert bank.table().metadata_location == before


def test_each_branch_and_the_table_come_before_the_policy(bank: Bank) -> None:
    """What is set on the branch counts, then what is set on the table."""
    deposits(bank, 6)
    bank.set_property("history.expire.min-snapshots-to-keep", "4")
    assert run(bank, keep=1).retained == {"main": 4}

    head = bank.head()
    assert head is not None
    update = SetSnapshotRefUpdate(
        ref_name="main",
        type="branch",
        snapshot_id=head,
        max_ref_age_ms=None,
        max_snapshot_age_ms=None,
        min_snapshots_to_keep=2,
    )
    commit(bank, update)
    assert run(bank, keep=1).retained == {"main": 2}


def test_what_is_younger_than_the_tables_age_stays(bank: Bank) -> None:
    """`history.expire.max-snapshot-age-ms`."""
    deposits(bank, 3)
    bank.set_property("history.expire.max-snapshot-age-ms", str(round(2 * DAY_S * 1000)))

    assert run(bank, clock=at(1, bank)).expired == ()
    assert len(run(bank, clock=at(3, bank)).expired) == 3


def test_snapshots_of_tags_and_other_branches_stay(bank: Bank) -> None:
    """A tag keeps its snapshot, a branch its lineage as far as its own bounds go; what both have may go."""
    (first,) = bank.snapshot_ids()
    made = deposits(bank, 5)
    fork, made = made[1], made[2:]
    commit(bank, set_ref("release", first, "tag"), set_ref("other", fork))

    report = run(bank, keep=2)

    left = set(bank.snapshot_ids())
    assert {first, fork, *made[-2:]} <= left
    assert report.retained["main"] == report.retained["other"] == 2
    assert not left & set(made[:-2])
    assert len(left) == 5


def test_a_history_that_two_branches_share_is_expired_when_neither_keeps_it(bank: Bank) -> None:
    """Neither holds it against the other."""
    made = deposits(bank, 4)
    commit(bank, set_ref("other", made[-1]))

    report = run(bank, keep=1)

    assert bank.snapshot_ids() == [made[-1]]
    assert len(report.expired) == 4


def test_refs_beyond_their_age_go_but_for_main_and_the_ledgers_tags(bank: Bank) -> None:
    """`max_ref_age_ms` of the ref, else `history.expire.max-ref-age-ms` of the table."""
    made = deposits(bank, 2)
    forever = SetSnapshotRefUpdate(
        ref_name="forever",
        type="tag",
        snapshot_id=made[0],
        max_ref_age_ms=round(1000 * DAY_S * 1000),
        max_snapshot_age_ms=None,
        min_snapshots_to_keep=None,
    )
    commit(bank, set_ref("release", made[0], "tag"), set_ref("other", made[0]), forever)
    bank.set_property("history.expire.max-ref-age-ms", str(round(2 * DAY_S * 1000)))

    assert run(bank, keep=20, clock=at(1, bank)).refs_removed == ()
    report = run(bank, keep=20, clock=at(3, bank))

    assert report.refs_removed == ("other", "release")
    assert set(bank.table().metadata.refs) == {"main", TAG, "forever"}


def test_a_snapshot_that_was_rolled_back_goes_once_it_is_old(bank: Bank) -> None:
    """No ref holds it; one that waits to be published has five days."""
    bank.roll_back_a_deposit(10)
    head = bank.head()
    bank.set_property("history.expire.max-snapshot-age-ms", str(round(2 * DAY_S * 1000)))

    assert run(bank, clock=at(1, bank)).expired == ()
    assert len(run(bank, clock=at(3, bank)).expired) == len(set(bank.snapshot_ids())) + 1
    assert bank.snapshot_ids() == [head]


def test_a_staged_snapshot_waits_for_five_days(bank: Bank) -> None:
    """Write-audit-publish: no ref holds it until somebody has looked at it."""
    with bank.rival() as rival:
        table = rival.load_table(bank.identifier)
        table.append(table.scan().to_arrow(), snapshot_properties={"wap.id": "audit"})
    staged = bank.head()
    bank.roll_back(bank.snapshot_ids()[0])

    assert run(bank, clock=at(1, bank)).expired == ()
    assert run(bank, clock=at(6, bank)).expired == (staged,)


@pytest.mark.parametrize("value", ["false", "FALSE"])
def test_a_table_that_forbids_collection_keeps_everything(bank: Bank, value: str) -> None:
    """`gc.enabled=false` is the owner's word."""
    deposits(bank, 3)
    bank.set_property("gc.enabled", value)

    report = run(bank)

    assert report.is_gc_disabled
    assert (report.expired, len(bank.snapshot_ids())) == ((), 4)


def test_commits_of_others_on_top_do_not_cost_the_ledger(bank: Bank) -> None:
    """The tag holds our commit, and its manifest in what is left proves the descent."""
    (ours,) = deposits(bank, 1)
    for _ in range(5):
        bank.open_account(7, 7)

    report = run(bank, keep=2)

    assert report.retained == {"main": 2}
    assert ours in bank.snapshot_ids()
    assert call(bank, Deposit(1), "it-0").is_noop


def test_what_the_ledger_cannot_be_read_without_is_kept_and_named(bank: Bank) -> None:
    """Others rewrote all that our commit wrote: nothing but the lineage itself proves the descent."""
    (ours,) = deposits(bank, 1)
    for _ in range(5):
        bank.compact()

    report = run(bank, keep=2)

    assert ours in bank.snapshot_ids()
    assert ours in report.kept_for_ledger
    assert call(bank, Deposit(1), "it-0").is_noop


def test_a_whole_history_without_a_ledger_stays_until_it_is_folded(bank: Bank) -> None:
    """Only its beginning proves that an operation was not applied."""
    for _ in range(3):
        bank.deposit(1)

    report = run(bank, keep=1)
    assert (report.expired, report.kept_for_ledger) == ((), tuple(bank.snapshot_ids()[:-1]))

    fold(bank.connect(), bank.identifier)
    assert len(run(bank, keep=1).expired) == 7
    assert not call(bank, Deposit(1), "first").is_noop


def test_our_commits_without_a_ledger_stay_while_nothing_else_names_their_operations(bank: Bank) -> None:
    """So the commits of a Seriatim are that kept no ledger yet; the history before them is cut."""
    bank.open_account(7, 7)
    bank.expire_all_but_head()
    with bank.rival() as rival:
        table = rival.load_table(bank.identifier)
        table.append(table.scan().to_arrow(), snapshot_properties={"seriatim.operation-ids": '["old"]'})
    old = bank.head()
    for number in range(3):
        bank.open_account(10 + number, 1)

    report = run(bank, keep=1)

    assert report.kept_for_ledger[0] == old
    assert note(bank, "old").is_noop


def test_an_operation_of_a_removed_branch_does_not_stop_expiry(bank: Bank) -> None:
    """The ledger's tag of a branch stays, whatever became of the branch."""
    bank.append_to_branch("other")
    note(bank, "there", branch="other")
    bank.set_property("history.expire.max-ref-age-ms", str(round(2 * DAY_S * 1000)))

    report = run(bank, clock=at(3, bank))

    assert report.refs_removed == ("other",)
    assert set(bank.table().metadata.refs) == {"main", f"{TAG}-other"}


class _Raced(FaultyCatalog):
    """A catalog in which something happens just before each commit."""

    happens: Callable[[], object] | None = None
    loses_reply = False

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        if self.happens is not None:
            self.happens()
        response = super().commit_table(table, requirements, updates)
        if self.loses_reply:
            self.loses_reply = False
            raise ConnectionError("the reply was lost")
        return response


def raced(bank: Bank, happens: Callable[[], object]) -> _Raced:
    catalog = _Raced("bank", **bank.properties())
    catalog.happens = happens
    return catalog


def test_a_ref_that_moved_meanwhile_is_a_conflict_and_is_seen_at_the_next_attempt(bank: Bank) -> None:
    """A tag that was moved to a snapshot that was about to go keeps it."""
    made = deposits(bank, 3)
    commit(bank, set_ref("release", made[-1], "tag"))
    left = [made[0]]

    def move() -> None:
        if left:
            commit(bank, set_ref("release", left.pop(), "tag"))

    catalog = raced(bank, move)
    report = run(bank, catalog=catalog)
    catalog.engine.dispose()

    assert report.attempts == 2
    assert set(bank.snapshot_ids()) == {made[0], made[-1]}


def test_a_table_that_moves_every_time_ends_in_an_error_and_keeps_its_history(bank: Bank) -> None:
    """Attempts are bounded."""
    deposits(bank, 3)
    catalog = raced(bank, lambda: bank.deposit(1))
    before = set(bank.snapshot_ids())

    with pytest.raises(CommitFailedException):
        run(bank, catalog=catalog, policy=RetryPolicy(attempts_max=2))
    catalog.engine.dispose()

    assert before <= set(bank.snapshot_ids())


def test_a_lost_reply_is_looked_up(bank: Bank) -> None:
    """To expire twice does no harm, and to say that it failed would be untrue."""
    deposits(bank, 3)
    catalog = _Raced("bank", **bank.properties())
    catalog.loses_reply = True

    report = run(bank, catalog=catalog)
    catalog.engine.dispose()

    assert len(report.expired) == 3
    assert len(bank.snapshot_ids()) == 1


def test_a_table_that_was_replaced_meanwhile_is_left_alone(bank: Bank) -> None:
    """The new one has a history of its own."""
    deposits(bank, 3)
    catalog = raced(bank, lambda: bank.replace([{"id": 1, "bal": 1}]))

    with pytest.raises(TableReplacedError):
        run(bank, catalog=catalog)
    catalog.engine.dispose()


def test_statistics_of_expired_snapshots_go_with_them(bank: Bank) -> None:
    """PyIceberg 0.10 cannot expire a snapshot that has some."""
    for number in range(3):
        note(bank, f"it-{number}", retention=NEVER, ledger=LedgerPolicy(recent_max=0))
    commit(bank, set_ref("release", bank.snapshot_ids()[2], "tag"))
    note(bank, "more", retention=NEVER, ledger=LedgerPolicy(recent_max=0))
    expire_unreferenced(bank)

    run(bank)

    left = {snapshot.snapshot_id for snapshot in _snapshots(bank)}
    assert {one.snapshot_id for one in bank.table().metadata.statistics} <= left
    assert tagged(bank) in left


def _snapshots(bank: Bank) -> list[Snapshot]:
    return bank.table().metadata.snapshots
