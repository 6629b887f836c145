"""Nobody but the mirror commits to a mirror: a snapshot of anybody else's would end it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from seriatim import Append, Base, apply, commit_with_retry, pinned
from seriatim.errors import InvalidChangeError, UpkeepRefusedError
from seriatim.upkeep import compact, fold, maintain, plan_compaction, repair
from tests.contract.ledger_support import TAG
from tests.faults.bank import Bank

WORDS = {"delta-version": "7", "delta-timestamp": "1000", "delta-table-id": "of-delta"}


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    """A table of three files whose head says that it is a Delta version."""
    bank = Bank(tmp_path).create(file_per_row=True)
    with bank.rival() as catalog:
        catalog.load_table(bank.identifier).append(_rows(4), snapshot_properties=WORDS)
    yield bank
    bank.close()


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Bank]:
    """A mirror before its first version."""
    bank = Bank(tmp_path).create([], properties={"seriatim.mirror-of": "of-delta"})
    yield bank
    bank.close()


def _rows(id_: int) -> pa.Table:
    return pa.table({"id": [id_], "bal": [id_ * 100]})


def _append(base: Base) -> Append:
    return Append(_rows(9))


def _apply(bank: Bank) -> None:
    apply(bank.connect(), bank.identifier, _append, operation_ids=["deposit|9"])


def _pinned(bank: Bank) -> None:
    pinned(bank.connect(), bank.identifier, lambda table: table.append(_rows(9)))


def _commit_with_retry(bank: Bank) -> None:
    commit_with_retry(bank.connect(), bank.identifier, lambda balance: balance + 1)


CHANGES = [_apply, _pinned, _commit_with_retry]


@pytest.mark.parametrize("change", CHANGES)
def test_a_mirror_takes_no_change(bank: Bank, change: Callable[[Bank], None]) -> None:
    """And nothing is left of what was tried."""
    head, lying_about = bank.head(), bank.inventory().unreachable

    with pytest.raises(InvalidChangeError, match="the mirror of a Delta table"):
        change(bank)

    assert bank.head() == head
    assert bank.inventory().unreachable == lying_about


@pytest.mark.parametrize("change", CHANGES)
def test_a_mirror_without_a_version_takes_no_change(empty: Bank, change: Callable[[Bank], None]) -> None:
    with pytest.raises(InvalidChangeError, match="the mirror of a Delta table"):
        change(empty)

    assert empty.head() is None


def test_another_branch_of_a_mirror_is_whoevers(bank: Bank) -> None:
    """To try something out on the rows of a mirror does it no harm."""
    head = bank.head()
    with bank.rival() as catalog:
        table = catalog.load_table(bank.identifier)
        assert head is not None
        table.manage_snapshots().create_branch(head, "trial").commit()

    apply(bank.connect(), bank.identifier, _append, branch="trial")

    assert bank.head() == head


def test_a_table_that_says_half_of_it_is_no_mirror(tmp_path: Path) -> None:
    """A word of somebody's own is no reason to refuse."""
    bank = Bank(tmp_path).create()
    with bank.rival() as catalog:
        catalog.load_table(bank.identifier).append(_rows(4), snapshot_properties={"delta-version": "7"})

    _apply(bank)

    assert bank.balances()[9] == 900
    bank.close()


def test_a_mirror_is_not_compacted(bank: Bank) -> None:
    """Its files are Delta's; the plan says that they are left."""
    head = bank.head()

    with pytest.raises(UpkeepRefusedError, match="OPTIMIZE"):
        compact(bank.connect(), bank.identifier)
    plan = plan_compaction(bank.connect(), bank.identifier)

    assert (plan.files_seen, plan.files, plan.files_left) == (4, 0, 4)
    assert bank.head() == head


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_round_of_upkeep_leaves_the_files_of_a_mirror(bank: Bank, dry_run: bool) -> None:
    head = bank.head()

    report = maintain(bank.connect(), bank.identifier, dry_run=dry_run)

    assert (report.plan.files, report.compaction) == (0, None)
    assert bank.head() == head


@pytest.mark.parametrize("kind", ["bank", "empty"])
def test_a_ledger_that_is_not_there_is_not_made_on_a_mirror(kind: str, request: pytest.FixtureRequest) -> None:
    """It would be a snapshot that the mirror takes for somebody else's."""
    bank = request.getfixturevalue(kind)
    head = bank.head()

    with pytest.raises(UpkeepRefusedError, match="needs no ledger"):
        fold(bank.connect(), bank.identifier)

    assert bank.head() == head


def test_a_cut_history_of_a_mirror_is_not_repaired(bank: Bank) -> None:
    """It is diagnosed; the mirror goes on without."""
    bank.expire_all_but_head()
    head = bank.head()

    assert TAG not in bank.table().refs()
    assert repair(bank.connect(), bank.identifier).cut_at == head
    with pytest.raises(UpkeepRefusedError, match="needs no ledger"):
        repair(bank.connect(), bank.identifier, dry_run=False)
    assert bank.head() == head
