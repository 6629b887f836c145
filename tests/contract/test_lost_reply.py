"""The catalog says that a commit failed, or that it does not know; the truth is found in the table."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest
from pyiceberg.exceptions import NoSuchTableError, ServerError
from pyiceberg.io.pyarrow import PyArrowFileIO

from solution import commit_with_retry
from tests.contract.checks import (
    CommitWithRetry,
    add,
    check_fault_on_first_attempt,
    check_fault_on_last_attempt,
    check_intact,
    check_no_residue,
)
from tests.faults.bank import Bank
from tests.faults.catalog import REPORTS, Fault, Landing

landings = pytest.mark.parametrize("landing", Landing, ids=lambda landing: landing.name.lower())
reports = pytest.mark.parametrize("report", REPORTS)
layouts = pytest.mark.parametrize("file_per_row", [True, False], ids=["own_file", "shared_file"])


@layouts
@reports
@landings
def test_a_fault_on_the_first_attempt_ends_in_one_application(
    empty_bank: Bank, report: str, landing: Landing, file_per_row: bool
) -> None:
    """A shared file is rewritten by two producers, which PyIceberg's own 'did it land?' test gets wrong."""
    bank = empty_bank.create(file_per_row=file_per_row)

    check_fault_on_first_attempt(commit_with_retry, bank, Fault(REPORTS[report](), landing))


@layouts
@reports
@landings
def test_a_fault_on_the_last_attempt_ends_in_the_truth(
    empty_bank: Bank, report: str, landing: Landing, file_per_row: bool
) -> None:
    """There is no next attempt to look it up: one more load decides, or the error says that it is not known."""
    bank = empty_bank.create(file_per_row=file_per_row)

    check_fault_on_last_attempt(commit_with_retry, bank, Fault(REPORTS[report](), landing))


@landings
@pytest.mark.parametrize("check", [check_fault_on_first_attempt, check_fault_on_last_attempt], ids=["first", "last"])
def test_a_table_of_format_version_1_is_no_exception(
    empty_bank: Bank,
    monkeypatch: pytest.MonkeyPatch,
    landing: Landing,
    check: Callable[[CommitWithRetry, Bank, Fault], None],
) -> None:
    """It has no sequence numbers to tell a dead attempt by, so that nothing is deleted there.

    Nothing but the metadata file that the catalog did not take: that one is nowhere.
    """
    bank = empty_bank.create(properties={"format-version": "1"})
    deleted: list[str] = []
    monkeypatch.setattr(PyArrowFileIO, "delete", lambda io, location: deleted.append(str(location)))

    check(commit_with_retry, bank, Fault(REPORTS["StateUnknown"](), landing))

    assert [location for location in deleted if not location.endswith(".metadata.json")] == []


@pytest.mark.parametrize("landing", [Landing.NEVER, Landing.AT_ONCE])
@pytest.mark.parametrize("error", [RuntimeError, ValueError, ServerError, NoSuchTableError])
def test_whatever_else_a_catalog_raises_is_looked_up_too(bank: Bank, error: type[Exception], landing: Landing) -> None:
    """No list of errors is complete: what is not a success is not known."""
    check_fault_on_first_attempt(commit_with_retry, bank, Fault(error("reported by the double"), landing))


def test_a_database_that_is_locked_is_tried_again(bank: Bank) -> None:
    """SQLite's own lock, not a double: somebody holds it while the first attempt commits."""
    catalog = bank.connect(lock_wait_s=0)
    holder = sqlite3.connect(bank.database, isolation_level=None)

    def rival(attempt: int) -> None:
        holder.execute("ROLLBACK" if attempt else "BEGIN IMMEDIATE")

    call = add(commit_with_retry, catalog, 7, rival=rival, max_retries=2)
    holder.close()

    assert (call.error, call.value) == (None, 107)
    assert call.attempts == [0, 1]
    assert bank.balances() == {1: 107, 2: 200, 3: 300}
    check_intact(bank)
    check_no_residue(bank)
