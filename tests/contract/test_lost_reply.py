"""The catalog says that a commit failed, or that it does not know; the truth is found in the table."""

from __future__ import annotations

import pytest

from solution import commit_with_retry
from tests.contract.checks import check_fault_on_first_attempt, check_fault_on_last_attempt
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
