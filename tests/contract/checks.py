"""What holds for every `commit_with_retry`, as functions of it.

The suites run them on the real one; `test_planted_bugs.py` runs the same functions on broken ones and wants a failure.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

from seriatim.errors import OutcomeUnknownError, UnconfirmedConflictError
from tests.faults.bank import Bank
from tests.faults.catalog import Fault, FaultyCatalog, Landing


class CommitWithRetry(Protocol):
    """The exercise's function."""

    def __call__(
        self,
        catalog: Any,  # A pyiceberg Catalog, or a stub.
        identifier: str | tuple[str, ...],
        mutate: Callable[[int], int],
        max_retries: int = 5,
        before_commit: Callable[[int], None] | None = None,
    ) -> int: ...


@dataclass(slots=True)
class Call:
    """One call: what it saw, and how it ended (`error` None: it returned `value`)."""

    seen: list[int] = field(default_factory=list)
    attempts: list[int] = field(default_factory=list)
    value: int | None = None
    error: BaseException | None = None


def add(
    commit: CommitWithRetry,
    catalog: Any,
    amount: int,
    *,
    rival: Callable[[int], None] = lambda attempt: None,
    max_retries: int = 5,
) -> Call:
    """Add `amount` to account 1 and note everything; `rival(attempt)` has its moment before each write."""
    call = Call()

    def mutate(balance: int) -> int:
        call.seen.append(balance)
        return balance + amount

    def before_commit(attempt: int) -> None:
        call.attempts.append(attempt)
        rival(attempt)

    try:
        call.value = commit(catalog, Bank.identifier, mutate, max_retries=max_retries, before_commit=before_commit)
    except BaseException as error:  # noqa: BLE001  (How it ends is what is checked, KeyboardInterrupt included.)
        call.error = error
    return call


def check_intact(bank: Bank) -> None:
    """The table can be read, and nothing that a snapshot needs is gone."""
    assert bank.inventory().missing == []

    assert len(bank.rows()) == len(set(bank.balances()))


def check_no_residue(bank: Bank) -> None:
    """Every data file, manifest and manifest list belongs to a snapshot."""
    if bank.table().format_version == 1:
        return  # Without sequence numbers a writer cannot prove its attempt dead, so it may keep the files.
    assert bank.inventory().unreachable == []


def check_handed_back(catalog: FaultyCatalog) -> None:
    """Every table the catalog handed out is as it was: no gate, no recorder is left in it."""
    for table, io in zip(catalog.loaded, catalog.loaded_ios, strict=True):
        assert table.catalog is catalog
        assert table.io is io


def check_rival_is_seen(
    commit: CommitWithRetry, bank: Bank, *, conflicts: int = 1, max_retries: int = 5
) -> FaultyCatalog:
    """A rival wins `conflicts` times in a row; the change is computed anew from its balance, and lands once."""
    catalog = bank.connect()

    call = add(
        commit,
        catalog,
        1,
        rival=lambda attempt: bank.deposit(10) if attempt < conflicts else None,
        max_retries=max_retries,
    )

    assert call.error is None
    assert call.seen == [100 + 10 * n for n in range(conflicts + 1)]
    assert call.attempts == list(range(conflicts + 1))
    assert call.value == 100 + 10 * conflicts + 1
    assert bank.balances() == {1: call.value, 2: 200, 3: 300}
    check_intact(bank)
    return catalog


def check_conflicts(commit: CommitWithRetry, bank: Bank, *, conflicts: int, max_retries: int = 5) -> None:
    """So it is, in one load and one submit for each attempt, and without residue."""
    catalog = check_rival_is_seen(commit, bank, conflicts=conflicts, max_retries=max_retries)

    assert (len(catalog.submitted), len(catalog.loaded)) == (conflicts + 1, conflicts + 1)
    check_handed_back(catalog)
    check_no_residue(bank)


def check_loss_is_told(commit: CommitWithRetry, bank: Bank, *, max_retries: int = 2) -> FaultyCatalog:
    """When a rival wins every time, the caller is told, and only the rival's deposits are in the table."""
    catalog = bank.connect()

    call = add(commit, catalog, 1, rival=lambda attempt: bank.deposit(10), max_retries=max_retries)

    assert isinstance(call.error, CommitFailedException)
    assert not isinstance(call.error, CommitStateUnknownException)
    assert call.attempts == list(range(max_retries))
    assert call.seen == [100 + 10 * n for n in range(max_retries)]
    assert bank.balances() == {1: 100 + 10 * max_retries, 2: 200, 3: 300}
    check_intact(bank)
    return catalog


def check_exhausted(commit: CommitWithRetry, bank: Bank, *, max_retries: int) -> None:
    """So it is; one load more than attempts has made sure, and nothing is left behind."""
    catalog = check_loss_is_told(commit, bank, max_retries=max_retries)

    assert (len(catalog.submitted), len(catalog.loaded)) == (max_retries, max_retries + 1)
    check_handed_back(catalog)
    check_no_residue(bank)


# (commits, loads) that a first attempt with a fault needs until the call has succeeded.
FIRST_ATTEMPT = {
    Landing.NEVER: (2, 2),
    Landing.AT_ONCE: (1, 2),
    Landing.AT_NEXT_LOAD: (1, 2),
    Landing.BEFORE_NEXT_COMMIT: (2, 3),
    Landing.AFTER_NEXT_COMMIT: (2, 2),
}


def check_fault_on_first_attempt(commit: CommitWithRetry, bank: Bank, fault: Fault) -> None:
    """Whenever the commit lands that was reported as failed: the change is applied once, and that is said."""
    catalog = bank.connect().fail(fault)
    commits, loads = FIRST_ATTEMPT[fault.landing]

    call = add(commit, catalog, 7)

    check_intact(bank)
    assert call.error is None
    assert call.value == 107
    assert bank.balances() == {1: 107, 2: 200, 3: 300}
    assert call.seen == [100] * commits
    assert (len(catalog.submitted), len(catalog.loaded)) == (commits, loads)
    assert catalog.landed_late == (fault.landing in (Landing.AT_NEXT_LOAD, Landing.BEFORE_NEXT_COMMIT))
    assert catalog.refused_late == (fault.landing is Landing.AFTER_NEXT_COMMIT)
    check_handed_back(catalog)
    check_no_residue(bank)


def check_fault_on_last_attempt(commit: CommitWithRetry, bank: Bank, fault: Fault) -> None:
    """After the last attempt it is looked up once; what is not found there is not known, and its files are kept."""
    catalog = bank.connect().fail(fault)

    call = add(commit, catalog, 7, max_retries=1)

    check_intact(bank)
    check_handed_back(catalog)
    assert (len(catalog.submitted), len(catalog.loaded)) == (1, 2)
    if fault.landing in (Landing.AT_ONCE, Landing.AT_NEXT_LOAD):
        assert call.error is None
        assert call.value == 107
        assert bank.balances() == {1: 107, 2: 200, 3: 300}
        check_no_residue(bank)
        return
    assert bank.balances() == {1: 100, 2: 200, 3: 300}
    check_says_unknown(call.error, fault.error)

    catalog.deliver()  # A request that was still on its way arrives after the call has ended.

    check_intact(bank)
    assert catalog.landed_late == (fault.landing is not Landing.NEVER)
    assert bank.balances()[1] == (100 if fault.landing is Landing.NEVER else 107)
    assert isinstance(call.error, OutcomeUnknownError)
    if fault.landing is not Landing.NEVER:
        assert set(call.error.snapshot_ids) & set(bank.snapshot_ids())


def check_says_unknown(error: BaseException | None, reported: BaseException) -> None:
    """An unknown outcome is called that; it is a conflict, too, only where the catalog called it one."""
    assert isinstance(error, OutcomeUnknownError)
    assert isinstance(error, CommitStateUnknownException)
    assert isinstance(error, UnconfirmedConflictError) == isinstance(reported, CommitFailedException)
    assert isinstance(error, CommitFailedException) == isinstance(reported, CommitFailedException)
    assert error.snapshot_ids != ()


def check_all_succeed(commit: CommitWithRetry, bank: Bank, connections: Sequence[FaultyCatalog]) -> None:
    """Writers that have all read the same balance before any of them writes: one wins, the others compute anew."""
    barrier = threading.Barrier(len(connections), timeout=60)
    amounts = [10**n for n in range(len(connections))]

    def deposit(catalog: FaultyCatalog, amount: int) -> Call:
        return add(
            commit,
            catalog,
            amount,
            rival=lambda attempt: None if attempt else _meet(barrier),
            max_retries=len(connections),
        )

    with ThreadPoolExecutor(len(connections)) as pool:
        calls = list(pool.map(deposit, connections, amounts))

    assert [call.error for call in calls] == [None] * len(calls)
    assert bank.balances()[1] == 100 + sum(amounts)
    assert all(call.seen[0] == 100 for call in calls)
    assert sum(len(call.attempts) > 1 for call in calls) == len(calls) - 1
    check_one_after_another(100, [(call.value, amount) for call, amount in zip(calls, amounts, strict=True)])
    check_intact(bank)


def _meet(barrier: threading.Barrier) -> None:
    barrier.wait()


def check_one_after_another(start: int, deposits: Sequence[tuple[int | None, int]]) -> None:
    """(returned balance, amount) of positive deposits form one chain: each began where the one before it ended."""
    balance = start
    for returned, amount in sorted(deposits, key=lambda deposit: deposit[0] or 0):
        balance += amount
        assert returned == balance
