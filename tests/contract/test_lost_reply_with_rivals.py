"""The reply is lost, and before we can look the outcome up somebody has been at the table."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyiceberg.exceptions import CommitFailedException

from seriatim.errors import ConflictError, OutcomeUnknownError
from solution import commit_with_retry
from tests.contract.checks import add, check_handed_back, check_intact, check_no_residue, check_says_unknown
from tests.faults.bank import Bank
from tests.faults.catalog import REPORTS, Fault, Landing

reports = pytest.mark.parametrize("report", REPORTS)
# A CommitFailedException claims to know; the others say that they do not.
unsure = pytest.mark.parametrize("report", [report for report in REPORTS if report != "CommitFailed"])


@reports
@pytest.mark.parametrize(("max_retries", "file_per_row"), [(1, False), (5, True)])
def test_a_landed_commit_is_found_beneath_a_rivals(
    empty_bank: Bank, report: str, max_retries: int, file_per_row: bool
) -> None:
    """The head is not ours, but its ancestor is; what is returned is the balance that we committed."""
    bank = empty_bank.create(file_per_row=file_per_row)
    catalog = bank.connect().fail(Fault(REPORTS[report](), Landing.AT_ONCE, lambda: bank.deposit(10)))

    call = add(commit_with_retry, catalog, 7, max_retries=max_retries)

    assert (call.error, call.value) == (None, 107)
    assert (call.seen, len(catalog.loaded), len(catalog.submitted)) == ([100], 2, 1)
    assert bank.balances() == {1: 117, 2: 200, 3: 300}
    check_intact(bank)
    check_no_residue(bank)


@reports
@pytest.mark.parametrize(("landing", "file_per_row"), [(Landing.NEVER, True), (Landing.AT_NEXT_LOAD, False)])
def test_a_commit_that_a_rival_beat_is_dead_and_computed_anew(
    empty_bank: Bank, report: str, landing: Landing, file_per_row: bool
) -> None:
    """It was pinned to a base that is gone: however late it arrives, it is refused, and its files can go."""
    bank = empty_bank.create(file_per_row=file_per_row)
    catalog = bank.connect().fail(Fault(REPORTS[report](), landing, lambda: bank.deposit(10)))

    call = add(commit_with_retry, catalog, 7)

    assert (call.error, call.value) == (None, 117)
    assert (call.seen, len(catalog.loaded), len(catalog.submitted)) == ([100, 110], 2, 2)
    assert catalog.refused_late == (landing is Landing.AT_NEXT_LOAD)
    assert bank.balances() == {1: 117, 2: 200, 3: 300}
    check_intact(bank)
    check_no_residue(bank)


@reports
def test_on_the_last_attempt_such_a_commit_is_a_certain_conflict(bank: Bank, report: str) -> None:
    """The look-up has turned 'unknown' into 'lost to a rival', so the caller may simply run it again."""
    catalog = bank.connect().fail(Fault(REPORTS[report](), Landing.AFTER_NEXT_COMMIT, lambda: bank.deposit(10)))

    call = add(commit_with_retry, catalog, 7, max_retries=1)
    catalog.deliver()

    assert isinstance(call.error, ConflictError)
    assert not isinstance(call.error, OutcomeUnknownError)
    assert catalog.refused_late == 1
    assert bank.balances() == {1: 110, 2: 200, 3: 300}
    check_intact(bank)
    check_no_residue(bank)


@reports
def test_a_late_commit_is_not_revived_by_a_rollback_to_its_base(bank: Bank, report: str) -> None:
    """The snapshot id is the base's again, the sequence numbers have moved on: the zombie is refused."""
    fault = Fault(REPORTS[report](), Landing.BEFORE_NEXT_COMMIT, lambda: bank.roll_back_a_deposit(10))
    catalog = bank.connect().fail(fault)

    call = add(commit_with_retry, catalog, 7)
    catalog.deliver()

    assert (call.error, call.value) == (None, 107)
    assert (catalog.landed_late, catalog.refused_late) == (0, 1)
    assert bank.balances() == {1: 107, 2: 200, 3: 300}
    check_intact(bank)


@reports
def test_several_lost_replies_in_a_row_end_in_one_application(bank: Bank, report: str) -> None:
    """All attempts are pinned to the same base, so at most one of them lands; here it is the second."""
    catalog = bank.connect().fail(
        Fault(REPORTS[report](), Landing.AFTER_NEXT_COMMIT),
        Fault(REPORTS[report](), Landing.AT_NEXT_LOAD),
    )

    call = add(commit_with_retry, catalog, 7)
    catalog.deliver()

    assert (call.error, call.value) == (None, 107)
    assert len(catalog.submitted) == 2
    assert bank.balances() == {1: 107, 2: 200, 3: 300}
    check_intact(bank)


@reports
def test_the_value_returned_is_that_of_the_attempt_that_landed(bank: Bank, report: str) -> None:
    """`mutate` may give another answer each time; the first attempt lands while the second is on its way."""
    catalog = bank.connect().fail(Fault(REPORTS[report](), Landing.BEFORE_NEXT_COMMIT))
    answers = [1000, 2000, 3000]

    value = commit_with_retry(catalog, bank.identifier, lambda balance: answers.pop(0))

    assert answers == [3000]
    assert value == 1000
    assert bank.balances()[1] == 1000
    check_no_residue(bank)


@reports
@pytest.mark.parametrize("deposits", [1, 2])
def test_a_landed_commit_whose_snapshots_have_expired_is_not_applied_again(
    bank: Bank, report: str, deposits: int
) -> None:
    """Our ids are gone from the history; that they cannot be found is no proof that they never were there."""

    def meanwhile() -> None:
        for _ in range(deposits):
            bank.deposit(10)
        bank.expire_all_but_head()

    catalog = bank.connect().fail(Fault(REPORTS[report](), Landing.AT_ONCE, meanwhile))

    call = add(commit_with_retry, catalog, 7)

    assert bank.balances()[1] == 107 + 10 * deposits
    assert call.error is None or isinstance(call.error, OutcomeUnknownError)
    assert call.value in (None, 107)
    check_intact(bank)


@unsure
@pytest.mark.parametrize("max_retries", [1, 5])
def test_a_table_created_anew_tells_nothing_about_the_old_one(bank: Bank, report: str, max_retries: int) -> None:
    """Whether the deposit was in the table that was dropped nobody can know, so it is not made in the new one."""
    fault = Fault(REPORTS[report](), Landing.NEVER, lambda: bank.replace([{"id": 1, "bal": 500}]))
    catalog = bank.connect().fail(fault)

    call = add(commit_with_retry, catalog, 7, max_retries=max_retries)

    check_says_unknown(call.error, fault.error)
    assert bank.balances() == {1: 500}
    assert bank.inventory().missing == []


@unsure
@pytest.mark.parametrize("max_retries", [1, 5])
def test_a_table_that_is_gone_leaves_the_outcome_unknown(bank: Bank, report: str, max_retries: int) -> None:
    """`NoSuchTableError` alone would read as 'nothing was written'."""
    fault = Fault(REPORTS[report](), Landing.NEVER, bank.drop)
    catalog = bank.connect().fail(fault)

    call = add(commit_with_retry, catalog, 7, max_retries=max_retries)

    check_says_unknown(call.error, fault.error)


@reports
@pytest.mark.parametrize(
    ("landing", "max_retries"), [(Landing.NEVER, 5), (Landing.AT_ONCE, 1), (Landing.AFTER_NEXT_COMMIT, 5)]
)
def test_when_the_look_up_fails_too_nothing_is_known_and_nothing_deleted(
    bank: Bank, report: str, landing: Landing, max_retries: int
) -> None:
    """The catalog is down: whatever was under way may have landed, or may land yet."""
    fault = Fault(REPORTS[report](), landing)
    catalog = bank.connect().fail(fault).fail_loads(None, ConnectionError("down"))

    call = add(commit_with_retry, catalog, 7, max_retries=max_retries)

    check_says_unknown(call.error, fault.error)
    check_handed_back(catalog)

    catalog.deliver()

    assert bank.balances()[1] == (100 if landing is Landing.NEVER else 107)
    check_intact(bank)


def test_a_first_load_that_fails_is_the_callers_to_see(bank: Bank) -> None:
    """Nothing was tried, so there is nothing to look up."""
    down = ConnectionError("down")
    catalog = bank.connect().fail_loads(down)

    call = add(commit_with_retry, catalog, 7)

    assert call.error is down
    assert not isinstance(call.error, CommitFailedException)
    assert (len(catalog.loaded), catalog.submitted) == (0, [])


@pytest.mark.parametrize(
    ("meanwhile", "look_up"),
    [
        (lambda bank: None, None),
        (lambda bank: bank.replace([{"id": 1, "bal": 500}]), None),
        (lambda bank: bank.drop(), None),
        (lambda bank: None, ConnectionError("down")),
    ],
    ids=["still_open", "replaced", "dropped", "not_loaded"],
)
def test_an_unknown_outcome_leads_back_to_what_the_catalog_said(
    bank: Bank, meanwhile: Callable[[Bank], None], look_up: Exception | None
) -> None:
    """Whoever has to find out what happened starts from there."""
    reported = ConnectionError("reset by peer")
    catalog = bank.connect().fail(Fault(reported, Landing.NEVER, lambda: meanwhile(bank))).fail_loads(None, look_up)

    call = add(commit_with_retry, catalog, 7, max_retries=1)

    assert isinstance(call.error, OutcomeUnknownError)
    assert reported in chain(call.error)
    assert look_up is None or look_up in chain(call.error)


def chain(error: BaseException) -> list[BaseException]:
    """Return `error` and everything that led to it."""
    found = [error]
    for one in found:
        found += [other for other in (one.__cause__, one.__context__) if other is not None and other not in found]
    return found
