"""Somebody presses Ctrl-C, or the storage fails, in the middle of an attempt."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partialmethod
from typing import Any

import pytest
from pyiceberg.io.pyarrow import PyArrowFile
from pyiceberg.table import Table

from solution import commit_with_retry
from tests.contract.checks import add, check_handed_back, check_intact, check_says_unknown
from tests.faults.bank import Bank
from tests.faults.catalog import Fault, Landing


@pytest.mark.parametrize("file_per_row", [True, False], ids=["own_file", "shared_file"])
@pytest.mark.parametrize("landing", [Landing.NEVER, Landing.AT_ONCE, Landing.AT_NEXT_LOAD])
@pytest.mark.parametrize(
    ("interrupt", "max_retries"), [(KeyboardInterrupt, 1), (KeyboardInterrupt, 5), (SystemExit, 5)]
)
def test_an_interrupt_ends_the_call_and_damages_nothing(
    empty_bank: Bank, interrupt: type[BaseException], max_retries: int, landing: Landing, file_per_row: bool
) -> None:
    """The commit may have landed or may land yet, so the files stay; there is no further attempt, and no look-up."""
    bank = empty_bank.create(file_per_row=file_per_row)
    error = interrupt()
    catalog = bank.connect().fail(Fault(error, landing))

    call = add(commit_with_retry, catalog, 7, max_retries=max_retries)

    assert call.error is error
    assert (len(catalog.loaded), len(catalog.submitted)) == (1, 1)
    assert bank.balances()[1] == (107 if landing is Landing.AT_ONCE else 100)
    check_handed_back(catalog)

    catalog.deliver()

    assert bank.balances()[1] == (100 if landing is Landing.NEVER else 107)
    check_intact(bank)


class FullDisk:
    """Lets so many files be made whose names end in `suffix`, then no more of them."""

    def __init__(self, room_for: int, monkeypatch: pytest.MonkeyPatch, *, suffix: str = "") -> None:
        self.error: BaseException = OSError(28, "No space left on device")
        self.made = 0
        self._room_for, self._suffix = room_for, suffix
        self._one_at_a_time = threading.Lock()  # PyIceberg writes manifests in threads.
        monkeypatch.setattr(PyArrowFile, "create", self._instead_of(PyArrowFile.create))

    def _instead_of(self, create: Callable[..., Any]) -> Callable[..., Any]:
        def create_or_fail(file: PyArrowFile, overwrite: bool = False) -> Any:
            if not file.location.endswith(self._suffix):
                return create(file, overwrite=overwrite)
            with self._one_at_a_time:
                if self.made >= self._room_for:
                    raise self.error
                self.made += 1
                return create(file, overwrite=overwrite)

        return create_or_fail


@pytest.mark.parametrize("room_for", range(3))  # rows, manifest, manifest list
def test_files_that_cannot_be_written_end_the_call_and_leave_no_others(
    bank: Bank, monkeypatch: pytest.MonkeyPatch, room_for: int
) -> None:
    """Nothing was sent to the catalog, so the attempt is known not to have landed; what it wrote before goes again."""
    catalog = bank.connect()
    before = bank.inventory()
    disk = FullDisk(room_for, monkeypatch)

    call = add(commit_with_retry, catalog, 7)

    assert call.error is disk.error
    assert disk.made == room_for
    assert catalog.submitted == []
    assert bank.inventory() == before
    check_handed_back(catalog)


@pytest.mark.parametrize("room_for", range(3))  # rows, manifest, manifest list
def test_an_interrupt_while_files_are_written_damages_nothing(
    bank: Bank, monkeypatch: pytest.MonkeyPatch, room_for: int
) -> None:
    """It comes out as it is, wherever it goes in."""
    catalog = bank.connect()
    disk = FullDisk(room_for, monkeypatch)
    disk.error = KeyboardInterrupt()

    call = add(commit_with_retry, catalog, 7)

    assert call.error is disk.error
    assert catalog.submitted == []
    assert bank.balances() == {1: 100, 2: 200, 3: 300}
    check_intact(bank)
    check_handed_back(catalog)


def test_a_file_that_a_thread_still_writes_when_another_has_failed_goes_too(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyIceberg writes two manifests at once and passes the first failure on without waiting for the other thread.

    So it does on a table whose `overwrite` somebody has prepared.
    """
    monkeypatch.setattr(Table, "overwrite", partialmethod(Table.overwrite))
    before = bank.inventory()
    call_has_ended, other_is_writing, other_has_written = threading.Event(), threading.Event(), threading.Event()
    create = PyArrowFile.create

    def fail_one_and_delay_the_other(file: PyArrowFile, overwrite: bool = False) -> Any:
        if file.location.endswith("-m0.avro"):
            assert other_is_writing.wait(10.0)
            raise OSError(28, "No space left on device")
        if not file.location.endswith("-m1.avro"):
            return create(file, overwrite=overwrite)
        other_is_writing.set()
        call_has_ended.wait(2.0)  # Not for ever: the call may as well wait for this thread.
        try:
            return create(file, overwrite=overwrite)
        finally:
            other_has_written.set()

    monkeypatch.setattr(PyArrowFile, "create", fail_one_and_delay_the_other)

    call = add(commit_with_retry, bank.connect(), 7)
    call_has_ended.set()

    assert isinstance(call.error, OSError)
    assert other_has_written.wait(10.0)
    assert bank.inventory() == before


def test_a_metadata_file_that_cannot_be_written_leaves_the_base_in_place(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalog itself writes it, after the hand-over: what it raises there is an unknown outcome like any other."""
    catalog = bank.connect()
    disk = FullDisk(0, monkeypatch, suffix=".metadata.json")

    call = add(commit_with_retry, catalog, 7, max_retries=2)

    check_says_unknown(call.error, disk.error)
    assert len(catalog.submitted) == 2
    assert bank.balances() == {1: 100, 2: 200, 3: 300}
    check_intact(bank)
    check_handed_back(catalog)
