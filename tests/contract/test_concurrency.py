"""Threads and processes deposit at the same time; the table ends as if they had done so one after another."""

from __future__ import annotations

import operator
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from solution import commit_with_retry
from tests.contract.checks import (
    check_all_succeed,
    check_intact,
    check_no_residue,
    check_one_after_another,
)
from tests.faults.bank import Bank
from tests.faults.workers import deposit_in_processes

# Everybody tries at once and nobody waits, so the work grows with the square of the writers.
crowds = pytest.mark.parametrize(("writers", "count"), [(3, 3), pytest.param(8, 5, marks=pytest.mark.slow)])


def amounts_of(worker: int, count: int) -> list[int]:
    """Return amounts that no other worker deposits, so that one that is lost or doubled shows in the sum."""
    return [1 + worker + 100 * n for n in range(count)]


@crowds
@pytest.mark.parametrize("shared", [False, True], ids=["own_catalogs", "one_catalog"])
def test_threads_lose_no_deposit(bank: Bank, shared: bool, writers: int, count: int) -> None:
    """All deposit to one account."""
    bank.set_property("history.expire.min-snapshots-to-keep", "1000")  # The files of what expires are upkeep's.
    one = bank.connect()
    together = threading.Barrier(writers, timeout=60)

    def work(worker: int) -> list[tuple[int, int]]:
        catalog = one if shared else bank.connect()
        together.wait()
        return [
            (commit_with_retry(catalog, bank.identifier, partial(operator.add, amount), 10_000), amount)
            for amount in amounts_of(worker, count)
        ]

    with ThreadPoolExecutor(writers) as pool:
        deposits = [deposit for done in pool.map(work, range(writers)) for deposit in done]

    assert bank.balances() == {1: 100 + sum(amount for _, amount in deposits), 2: 200, 3: 300}
    assert len(deposits) == writers * count
    check_one_after_another(100, deposits)
    check_intact(bank)
    check_no_residue(bank)


@pytest.mark.parametrize("writers", [2, 3])
@pytest.mark.parametrize("shared", [False, True], ids=["own_catalogs", "one_catalog"])
def test_writers_that_all_read_before_any_writes_all_succeed(bank: Bank, shared: bool, writers: int) -> None:
    """A barrier before the first write makes the conflict certain: exactly one wins at first."""
    connections = [bank.connect()] * writers if shared else [bank.connect() for _ in range(writers)]

    check_all_succeed(commit_with_retry, bank, connections)

    check_no_residue(bank)


@pytest.mark.parametrize(("writers", "count"), [(2, 3), pytest.param(4, 5, marks=pytest.mark.slow)])
def test_processes_lose_no_deposit(bank: Bank, writers: int, count: int) -> None:
    """All have read the same balance before any of them writes."""
    bank.set_property("history.expire.min-snapshots-to-keep", "1000")  # The files of what expires are upkeep's.
    deposits = deposit_in_processes(bank.path, [amounts_of(worker, count) for worker in range(writers)])

    assert bank.balances() == {1: 100 + sum(amount for _, amount in deposits), 2: 200, 3: 300}
    assert len(deposits) == writers * count
    check_one_after_another(100, deposits)
    check_intact(bank)
    check_no_residue(bank)
