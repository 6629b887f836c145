"""What `apply` does when a reply is lost, the table is replaced, or the history is cut."""

from __future__ import annotations

import pytest
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import SetSnapshotRefUpdate

from seriatim.commit import RetentionPolicy, RetryPolicy, Rewrite
from seriatim.commit.chain import Step
from seriatim.commit.new_snapshot import write_snapshots
from seriatim.errors import HistoryCutError, OutcomeUnknownError, TableReplacedError, UnconfirmedConflictError
from tests.contract.apply_support import Deposit, call, opening
from tests.contract.ledger_support import expire_as_pyiceberg_does
from tests.faults.bank import Bank
from tests.faults.catalog import REPORTS, Fault, Landing

LANDS = [Landing.AT_ONCE, Landing.NEVER, Landing.AT_NEXT_LOAD, Landing.BEFORE_NEXT_COMMIT, Landing.AFTER_NEXT_COMMIT]


@pytest.mark.parametrize("landing", LANDS)
@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("is_append", [True, False])
def test_a_lost_reply_is_looked_up_and_the_change_applied_once(
    bank: Bank, report: str, landing: Landing, is_append: bool
) -> None:
    """P5: whatever the catalog says, and whenever the commit lands, the table tells. With operation id or without."""
    catalog = bank.connect().fail(Fault(REPORTS[report](), landing))

    call(bank, opening(4, 1) if is_append else Deposit(10), catalog=catalog)
    catalog.deliver()

    assert catalog.script_is_done
    expected = {1: 100, 2: 200, 3: 300, 4: 1} if is_append else {1: 110, 2: 200, 3: 300}
    assert bank.balances() == expected
    assert len(bank.rows()) == len(expected)
    assert bank.inventory().missing == []
    assert bank.inventory().unreachable == []


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("landing", [Landing.NEVER, Landing.AFTER_NEXT_COMMIT])
def test_an_outcome_that_stays_open_is_an_error_that_says_so(bank: Bank, report: str, landing: Landing) -> None:
    """P5: the last attempt may land yet, so its files stay and the error claims nothing."""
    catalog = bank.connect().fail(Fault(REPORTS[report](), landing))

    with pytest.raises(OutcomeUnknownError) as caught:
        call(bank, Deposit(10), "open", catalog=catalog, policy=RetryPolicy(attempts_max=1))
    is_refusal = isinstance(caught.value, UnconfirmedConflictError)
    catalog.deliver()
    has_landed = bank.balances()[1] == 110

    assert is_refusal == (report == "CommitFailed")
    assert has_landed == (landing is not Landing.NEVER)
    assert (bank.head() in caught.value.snapshot_ids) == has_landed
    assert bank.inventory().missing == []
    assert call(bank, Deposit(10), "open").is_noop == has_landed
    assert bank.balances()[1] == 110


def test_a_commit_whose_snapshot_was_expired_since_is_unknown_not_repeated(bank: Bank) -> None:
    """Ours landed, the reply was lost, a rival went on top and expired it: nothing in the table tells."""

    def meanwhile() -> None:
        bank.deposit(5)
        bank.expire_all_but_head()

    catalog = bank.connect().fail(Fault(REPORTS["CommitFailed"](), Landing.AT_ONCE, meanwhile))

    with pytest.raises(OutcomeUnknownError):
        call(bank, Deposit(10), catalog=catalog)

    assert bank.balances()[1] == 115
    assert bank.inventory().missing == []


def test_a_commit_whose_snapshot_was_expired_since_is_known_by_its_operation(bank: Bank) -> None:
    """Twenty commits of others later the snapshot is gone, but their ledger tells of it: there is a receipt."""

    def meanwhile() -> None:
        for _ in range(3):
            call(bank, Deposit(1), retention=RetentionPolicy(snapshots_min=1))

    catalog = bank.connect().fail(Fault(REPORTS["ConnectionError"](), Landing.AT_ONCE, meanwhile))

    receipt = call(bank, Deposit(10), "it", catalog=catalog)

    assert receipt.attempts == 1
    assert receipt.already_applied == {}
    assert set(receipt.snapshot_ids).isdisjoint(bank.snapshot_ids())
    assert call(bank, Deposit(10), "it").already_applied == {"it": receipt.snapshot_ids[0]}
    assert bank.balances()[1] == 113


def test_a_commit_that_did_not_land_and_was_passed_by_many_is_done_again(bank: Bank) -> None:
    """Neither its snapshot nor any with its number is left; the ledger proves that the operation is not done."""

    def meanwhile() -> None:
        for _ in range(3):
            call(bank, Deposit(1), retention=RetentionPolicy(snapshots_min=1))

    catalog = bank.connect().fail(Fault(REPORTS["ConnectionError"](), Landing.NEVER, meanwhile))

    receipt = call(bank, Deposit(10), "it", catalog=catalog)

    assert receipt.attempts == 2
    assert bank.balances()[1] == 113
    assert bank.inventory().missing == []


@pytest.mark.parametrize("landing", [Landing.AT_ONCE, Landing.NEVER])
def test_the_ledgers_tag_tells_what_expiry_has_hidden(bank: Bank, landing: Landing) -> None:
    """Others commit twice and expire all that they may: what the tag is on stays, and is ours if ours has landed."""
    call(bank, Deposit(1), "earlier")

    def meanwhile() -> None:
        bank.deposit(5)
        bank.deposit(5)
        expire_as_pyiceberg_does(bank)

    catalog = bank.connect().fail(Fault(REPORTS["ConnectionError"](), landing, meanwhile))

    receipt = call(bank, Deposit(10), catalog=catalog)

    assert receipt.attempts == (1 if landing is Landing.AT_ONCE else 2)
    assert bank.balances()[1] == 121
    assert bank.inventory().missing == []


@pytest.mark.parametrize("attempts_max", [1, 5])
def test_a_first_commit_that_is_late_is_not_taken_for_dead(empty_bank: Bank, attempts_max: int) -> None:
    """Catalogs ask for the number of no snapshot without a parent: that another branch has used it proves nothing."""
    bank = empty_bank.create(())
    landing = Landing.AFTER_NEXT_COMMIT if attempts_max == 1 else Landing.BEFORE_NEXT_COMMIT
    fault = Fault(REPORTS["ConnectionError"](), landing, lambda: first_commit_on_a_branch(bank, "audit"))
    catalog = bank.connect().fail(fault)

    try:
        receipt = call(bank, opening(1, 100), "it", catalog=catalog, policy=RetryPolicy(attempts_max=attempts_max))
    except OutcomeUnknownError:
        receipt = None
    catalog.deliver()

    assert (receipt is None) == (attempts_max == 1)
    assert bank.balances() == {1: 100}
    assert bank.inventory().missing == []


def first_commit_on_a_branch(bank: Bank, branch: str) -> None:
    """Put the table's first snapshot on a branch alone, as Spark's `CREATE BRANCH` on an empty table does."""
    with bank.rival() as catalog:
        table = catalog.load_table(bank.identifier)
        now_ms = table.metadata.last_updated_ms
        (added, moved) = write_snapshots(table, "main", [Step(Operation.APPEND)], now_ms)
        assert isinstance(moved, SetSnapshotRefUpdate)
        catalog.commit_table(table, (), (added, moved.model_copy(update={"ref_name": branch})))


def test_a_table_that_was_set_back_does_not_make_an_outcome_certain(bank: Bank) -> None:
    """Set forward again to the base, the late commit lands: "nothing was written" would have been untrue."""
    before = bank.head()
    bank.deposit(5)
    base = bank.head()
    fault = Fault(REPORTS["ConnectionError"](), Landing.AFTER_NEXT_COMMIT, lambda: bank.roll_back(before))
    catalog = bank.connect().fail(fault)

    with pytest.raises(OutcomeUnknownError):
        call(bank, Deposit(10), catalog=catalog, policy=RetryPolicy(attempts_max=1))
    bank.roll_back(base)
    catalog.deliver()

    assert catalog.landed_late == 1
    assert bank.balances()[1] == 115


def test_another_table_of_the_same_name_is_not_written(bank: Bank) -> None:
    """A change that was computed from a table that is gone does not touch the one that took its name."""
    with pytest.raises(TableReplacedError) as caught:
        call(bank, Deposit(10, lambda: bank.replace([{"id": 1, "bal": 7}])))

    assert bank.balances() == {1: 7}
    assert caught.value.expected_uuid != caught.value.actual_uuid == str(bank.table().metadata.table_uuid)


def test_a_cut_history_fails_closed(bank: Bank) -> None:
    """P4: absence is proof only when the walk reaches the table's beginning; the operation may be in what is gone."""
    call(bank, Deposit(10), "lost from sight")
    bank.deposit(5)
    bank.expire_all_but_head()

    with pytest.raises(HistoryCutError) as caught:
        call(bank, Deposit(10), "lost from sight")

    assert bank.balances()[1] == 115
    assert caught.value.operation_ids == ("lost from sight",)


def test_an_operation_that_was_rolled_back_is_applied_again(bank: Bank) -> None:
    """Ids live in the summary, which follows a rollback: rows and id are there together, or neither."""
    before = bank.head()
    call(bank, Deposit(10), "undone")
    bank.roll_back(before)
    assert bank.balances()[1] == 100

    receipt = call(bank, Deposit(10), "undone")

    assert bank.balances()[1] == 110
    assert not receipt.is_noop


def test_a_rollback_between_read_and_write_is_a_conflict(bank: Bank) -> None:
    """The base is still in the table, but it is no longer the head."""
    before = bank.head()
    bank.deposit(5)

    call(bank, Deposit(10, lambda: bank.roll_back(before)))

    assert bank.balances()[1] == 110


def test_a_zombie_that_commits_after_the_table_came_back_to_its_base_is_refused(bank: Bank) -> None:
    """S1 -> S2 -> rollback to S1 -> S3: the late commit is pinned to S1, where the table was again, and stays out."""
    before = bank.head()

    def meanwhile() -> None:
        bank.deposit(5)
        bank.roll_back(before)

    catalog = bank.connect().fail(Fault(REPORTS["ConnectionError"](), Landing.BEFORE_NEXT_COMMIT, meanwhile))
    try:
        call(bank, Deposit(10), catalog=catalog)
    finally:
        catalog.deliver()

    assert bank.balances()[1] == 110
    assert bank.inventory().missing == []


def test_a_change_that_raises_leaves_nothing(bank: Bank) -> None:
    """P7: what the caller's code raises comes out as it is, at once."""
    trouble = RuntimeError("the caller's")

    def change(base: object) -> Rewrite:
        raise trouble

    with pytest.raises(RuntimeError) as caught:
        call(bank, change)

    assert caught.value is trouble
    assert bank.balances() == {1: 100, 2: 200, 3: 300}
