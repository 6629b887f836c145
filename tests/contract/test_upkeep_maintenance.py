"""`maintain`: a round of upkeep, in which each step leaves work for the next."""

from __future__ import annotations

from seriatim.commit import RetentionPolicy
from seriatim.upkeep import maintain
from tests.contract.apply_support import Deposit, call
from tests.contract.upkeep_support import age, files, litter, readings
from tests.contract.upkeep_support import home as home_of
from tests.faults.bank import Bank

TWO = RetentionPolicy(snapshots_min=2)


def scene(bank: Bank) -> Bank:
    """A history, small files and an orphan, all of them old."""
    bank.create(file_per_row=True)
    for number in range(4):
        call(bank, Deposit(1), f"it-{number}")
    litter(home_of(bank) / "data", "dead.parquet")
    age(*files(bank))
    return bank


def test_a_dry_run_is_the_default_and_changes_nothing(empty_bank: Bank) -> None:
    """It says what each step would do."""
    bank = scene(empty_bank)
    before = files(bank)

    report = maintain(bank.connect(), bank.identifier, retention=TWO)

    assert (len(report.expiry.expired), report.plan.files, report.orphans.orphans) == (5, 3, 1)
    assert report.compaction is None
    assert files(bank) == before


def test_a_round_expires_compacts_and_removes_what_is_needed_no_more(empty_bank: Bank) -> None:
    """What expiry left goes in the same round; the rows, and what is retained, stay."""
    bank = scene(empty_bank)
    before = readings(bank.table())

    report = maintain(bank.connect(), bank.identifier, retention=TWO, dry_run=False)

    after = readings(bank.table())
    assert len(report.expiry.expired) == 5
    assert report.compaction is not None
    assert (report.compaction.files_removed, report.compaction.files_added) == (3, 1)
    assert report.orphans.removed > 1
    assert {id_: after[id_] for id_ in after.keys() & before.keys()} == {
        id_: before[id_] for id_ in after.keys() & before.keys()
    }
    assert bank.balances() == {1: 104, 2: 200, 3: 300}
    assert bank.inventory().missing == bank.inventory().unreachable == []
    assert call(bank, Deposit(1), "it-0").is_noop
