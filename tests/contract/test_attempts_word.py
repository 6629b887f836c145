"""A commit says which attempt of its call it is, so that a history tells what contention cost."""

from __future__ import annotations

from seriatim.commit import Receipt, RetryPolicy, pinned
from tests.contract.apply_support import Deposit, call, opening, settings
from tests.contract.ledger_support import head, words
from tests.faults.bank import Bank
from tests.faults.catalog import REPORTS, Fault, Landing

ATTEMPTS = "seriatim.attempts"


def test_the_first_attempt_says_one(bank: Bank) -> None:
    call(bank, opening(4, 400), "open")

    assert words(head(bank))[ATTEMPTS] == "1"


def test_a_commit_that_lost_twice_says_three(bank: Bank) -> None:
    """It is what the receipt says, too."""
    receipt = call(bank, Deposit(5, lambda: bank.deposit(1), lambda: bank.deposit(1)), "deposit")

    assert words(head(bank))[ATTEMPTS] == "3"
    assert receipt.attempts == 3


def test_a_rebased_commit_counts_the_attempt_that_lost(bank: Bank) -> None:
    """Nothing was computed again, and yet it was submitted twice."""
    receipt = call(bank, opening(4, 400, lambda: bank.open_account(9, 9)), "open")

    assert (receipt.rebases, receipt.attempts) == (1, 2)
    assert words(head(bank))[ATTEMPTS] == "2"


def test_an_attempt_whose_reply_was_lost_keeps_its_number(bank: Bank) -> None:
    """The number is that of the attempt that landed, whatever came after it."""
    catalog = bank.connect().fail(Fault(REPORTS["ConnectionError"](), Landing.AT_ONCE))

    call(bank, opening(4, 400), "open", catalog=catalog)

    assert words(head(bank))[ATTEMPTS] == "1"


def test_every_snapshot_of_a_pinned_call_says_it(bank: Bank) -> None:
    """The snapshots of one commit carry the same words."""
    rivals = [lambda: bank.deposit(1)]

    def twice(table: object) -> None:
        bank_table = bank.table()
        rows = bank_table.scan().to_arrow().slice(0, 1)
        if rivals:
            rivals.pop()()
        table.append(rows)  # type: ignore[attr-defined]
        table.append(rows)  # type: ignore[attr-defined]

    receipt: Receipt = pinned(
        bank.connect(), bank.identifier, twice, operation_ids=["twice"], **settings({"policy": RetryPolicy()})
    )

    made = [one for one in bank.table().metadata.snapshots if one.snapshot_id in receipt.snapshot_ids]
    assert [words(one)[ATTEMPTS] for one in made] == ["2", "2"]
