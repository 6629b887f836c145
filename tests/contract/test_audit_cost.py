"""What an audit costs, counted in files: each is opened once, and going on opens what is new."""

from __future__ import annotations

import pytest

from seriatim.audit import Status, SumsAsRecorded, UniqueKey, audit
from seriatim.commit import Base, Declared, RetentionPolicy, private
from tests.contract.apply_support import Deposit, call
from tests.faults.bank import Bank
from tests.faults.fileio import FileFaults, Kind, Step, WatchedCatalog


def _deposit(bank: Bank, times: int) -> None:
    def change(base: Base) -> Declared:
        return Declared(Deposit(1)(base), {"bal": 1})

    for _ in range(times):
        call(bank, change, f"deposit|{len(bank.snapshot_ids())}", retention=RetentionPolicy(snapshots_min=None))


def _opened(bank: Bank, since: int | None = None) -> dict[Kind, int]:
    """Audit, want it clean, and return how many files of each kind were opened."""
    watch = FileFaults()
    catalog = WatchedCatalog("bank", watch, **bank.properties())
    try:
        verdict = audit(catalog, bank.identifier, [UniqueKey("id"), SumsAsRecorded("bal")], since=since)
    finally:
        catalog.engine.dispose()
    assert (verdict.status, verdict.unjudged) == (Status.CLEAN, ())
    return {kind: watch.counts[Step.READ, kind] for kind in (Kind.MANIFEST_LIST, Kind.MANIFEST, Kind.DATA)}


def test_each_file_is_opened_once(bank: Bank) -> None:
    """Each of the nine snapshots has one list, one manifest and one data file that the others have not."""
    _deposit(bank, 8)

    assert _opened(bank) == {Kind.MANIFEST_LIST: 9, Kind.MANIFEST: 9, Kind.DATA: 9}


@pytest.mark.parametrize("older", [1, 12])
def test_going_on_opens_what_is_new(bank: Bank, older: int) -> None:
    """The state that it goes on from, and the three snapshots after it, however long the history before is."""
    _deposit(bank, older)
    since = bank.head()
    _deposit(bank, 3)

    assert _opened(bank, since) == {Kind.MANIFEST_LIST: 4, Kind.MANIFEST: 4, Kind.DATA: 4}


def test_how_manifests_are_read_is_worked_out_once(bank: Bank) -> None:
    """For the lists and for the manifests of a table whose form never changed; in a small file nothing takes longer."""
    _deposit(bank, 5)
    private.known_reader.cache_clear()

    _opened(bank)

    assert private.known_reader.cache_info().misses == 2
