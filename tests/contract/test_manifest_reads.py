"""A manifest never changes: a call reads each of them once, however many attempts it takes."""

from __future__ import annotations

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform

from seriatim.commit.live_entries import LiveEntries
from tests.contract.apply_support import Deposit, call
from tests.faults.bank import Bank
from tests.faults.fileio import FileFaults, Kind, Step, WatchedCatalog, WatchedFileIO


def manifests(bank: Bank) -> set[str]:
    """Return where the manifests of the table's current snapshot lie."""
    table = bank.table()
    head = table.current_snapshot()
    return {each.manifest_path for each in head.manifests(table.io)} if head is not None else set()


def test_a_rebase_reads_what_the_rival_has_written_alone(empty_bank: Bank) -> None:
    """Three manifests at first, and then what is left of the rival's two snapshots."""
    bank = empty_bank.create(file_per_row=True)
    known = manifests(bank)
    watch = FileFaults()
    catalog = WatchedCatalog("bank", watch, **bank.properties())
    new: set[str] = set()

    def rival() -> None:
        bank.change(2, bal=5)
        new.update(manifests(bank) - known)

    receipt = call(bank, Deposit(10, rival), catalog=catalog)

    assert (receipt.attempts, receipt.rebases) == (2, 1)
    assert watch.counts[Step.READ, Kind.MANIFEST] == len(known) + len(new)
    assert bank.balances() == {1: 110, 2: 5, 3: 300}
    catalog.engine.dispose()


BY_ID = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id"))
UNMERGED = {"commit.manifest-merge.enabled": "false"}


@pytest.mark.parametrize("account_id", [1, 2, 3])
def test_a_removal_reads_no_manifest_but_the_one_that_was_read_from(empty_bank: Bank, account_id: int) -> None:
    """However old it is: another's files are in none that the change has seen."""
    bank = empty_bank.create(spec=BY_ID, file_per_row=True, properties=UNMERGED)
    watch = FileFaults()
    catalog = WatchedCatalog("bank", watch, **bank.properties())

    call(bank, Deposit(10, account_id=account_id), catalog=catalog)

    assert watch.counts[Step.READ, Kind.MANIFEST] == 1
    assert bank.balances() == {1: 100, 2: 200, 3: 300} | {account_id: 100 * account_id + 10}
    catalog.engine.dispose()


def test_a_rebase_reads_no_manifest_whose_partitions_rule_it_out(empty_bank: Bank) -> None:
    """Two rivals have written others; what the change replaces is where it was."""
    bank = empty_bank.create(spec=BY_ID, file_per_row=True, properties=UNMERGED)
    watch = FileFaults()
    catalog = WatchedCatalog("bank", watch, **bank.properties())

    def rivals() -> None:
        bank.change(2, bal=5)
        bank.change(3, bal=6)

    receipt = call(bank, Deposit(10, rivals), catalog=catalog)

    assert (receipt.attempts, receipt.rebases) == (2, 1)
    assert watch.counts[Step.READ, Kind.MANIFEST] == 1
    assert bank.balances() == {1: 110, 2: 5, 3: 6}
    catalog.engine.dispose()


def test_what_was_read_last_is_remembered_where_not_all_of_it_can_be(empty_bank: Bank) -> None:
    """Manifests that were replaced take no room from those that replaced them."""
    table, watch = empty_bank.create(file_per_row=True).table(), FileFaults()
    first, second, third = table.inspect.manifests().column("path").to_pylist()
    head = table.current_snapshot()
    assert head is not None
    manifest = {each.manifest_path: each for each in head.manifests(table.io)}
    entries = LiveEntries(WatchedFileIO(table.io, watch), remembered_max=2)

    for path in (first, second):
        entries.of(manifest[path])
    entries = entries.through(WatchedFileIO(table.io, watch))
    entries.of(manifest[third])
    entries = entries.through(WatchedFileIO(table.io, watch))
    for path in (second, third):
        entries.of(manifest[path])
    assert watch.counts[Step.READ, Kind.MANIFEST] == 3

    entries.of(manifest[first])
    assert watch.counts[Step.READ, Kind.MANIFEST] == 4
