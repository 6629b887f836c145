"""What `mutate` and `before_commit` raise is the caller's own, and ends the call as it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException, ValidationException

from solution import commit_with_retry
from tests.contract.checks import check_handed_back, check_intact, check_no_residue
from tests.faults.bank import Bank
from tests.faults.catalog import REPORTS, Fault, FaultyCatalog, Landing

ERRORS: tuple[Callable[[], BaseException], ...] = (
    lambda: ArithmeticError("mine"),
    lambda: CommitFailedException("mine"),
    lambda: CommitStateUnknownException("mine"),
    lambda: ValidationException("mine"),
    lambda: KeyboardInterrupt("mine"),
)


def raise_in(
    catalog: FaultyCatalog, where: str, error: BaseException, *, on_attempt: int, rival: Callable[[], None]
) -> BaseException | None:
    """Raise `error` in `where` on that attempt, let `rival` win every attempt before it; return what comes out."""
    attempts: list[int] = []

    def mutate(balance: int) -> int:
        attempts.append(len(attempts))
        if where == "mutate" and attempts[-1] == on_attempt:
            raise error
        return balance + 1

    def before_commit(attempt: int) -> None:
        if where == "before_commit" and attempt == on_attempt:
            raise error
        rival()

    try:
        commit_with_retry(catalog, Bank.identifier, mutate, before_commit=before_commit)
    except BaseException as raised:  # noqa: BLE001  (Which object comes out is what is checked.)
        return raised
    return None


@pytest.mark.parametrize("on_attempt", [0, 1])
@pytest.mark.parametrize("where", ["mutate", "before_commit"])
@pytest.mark.parametrize("make_error", ERRORS, ids=lambda make_error: type(make_error()).__name__)
def test_it_propagates_as_it_is_and_nothing_is_written(
    bank: Bank, make_error: Callable[[], BaseException], where: str, on_attempt: int
) -> None:
    """A CommitFailedException of the caller's own is no conflict of ours: another attempt would repeat what failed."""
    error, catalog = make_error(), bank.connect()

    raised = raise_in(catalog, where, error, on_attempt=on_attempt, rival=lambda: bank.deposit(10))

    assert raised is error
    assert (len(catalog.loaded), len(catalog.submitted)) == (on_attempt + 1, on_attempt)
    assert bank.balances() == {1: 100 + 10 * on_attempt, 2: 200, 3: 300}
    check_handed_back(catalog)
    check_intact(bank)
    check_no_residue(bank)


@pytest.mark.parametrize("where", ["mutate", "before_commit"])
@pytest.mark.parametrize("report", REPORTS)
def test_it_deletes_nothing_of_an_earlier_attempt_that_may_still_land(bank: Bank, report: str, where: str) -> None:
    """The call is over, the request is not: whatever arrives later must find its files."""
    error = ArithmeticError("mine")
    catalog = bank.connect().fail(Fault(REPORTS[report](), Landing.AFTER_NEXT_COMMIT))

    raised = raise_in(catalog, where, error, on_attempt=1, rival=lambda: None)

    assert raised is error
    assert bank.balances()[1] == 100

    catalog.deliver()

    assert catalog.landed_late == 1
    assert bank.balances()[1] == 101
    check_intact(bank)
