"""What `apply` does when a reply is lost, the table is replaced, or the history is cut."""

from __future__ import annotations

import pytest

from seriatim.commit import RetryPolicy, Rewrite
from seriatim.errors import HistoryCutError, OutcomeUnknownError, TableReplacedError, UnconfirmedConflictError
from tests.contract.apply_support import Deposit, call, opening
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
