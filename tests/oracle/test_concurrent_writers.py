"""Threads and processes that change one row, two rows and all rows of one table at once, against the serial model."""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import Catalog

from oracle.accounts import replay_accounts
from oracle.errors import UnknownOperationError
from oracle.lineage import landed_operation_ids
from solution import commit_with_retry
from tests.faults.bank import Bank
from tests.oracle.writers import carry_out, carry_out_in_a_process, make_operations

START = dict.fromkeys(range(1, 9), 1000)


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    """Eight accounts with 1,000 each, in one file."""
    bank = Bank(tmp_path).create([{"id": account, "bal": balance} for account, balance in START.items()])
    yield bank
    bank.close()


def _plan(seed: int, writers: int, count: int) -> list[list[str]]:
    print(f"seed {seed}")  # Replay: the same seed makes the same operations; the table says in which order they landed.
    rng = random.Random(seed)
    return [make_operations(rng, len(START), count, writer) for writer in range(writers)]


def _finish(calls: Sequence[Future[Any]]) -> None:
    for call in calls:
        call.result()


def _deposit(catalog: Catalog, amount: int) -> object:
    return commit_with_retry(catalog, Bank.identifier, lambda balance: balance + amount, max_retries=200)


def _assert_serial(bank: Bank, plan: Sequence[Sequence[str]]) -> None:
    landed = landed_operation_ids(bank.table().metadata_location)
    assert sorted(landed) == sorted(operation for operations in plan for operation in operations)
    for operations in plan:  # A writer's own operations land in the order in which it made them.
        assert [one for one in landed if one in set(operations)] == list(operations)
    assert bank.balances() == replay_accounts(START, landed)
    assert bank.inventory().missing == []
    assert bank.inventory().unreachable == []


def test_threads_that_share_a_catalog_leave_what_a_serial_order_leaves(bank: Bank) -> None:
    """Interest touches every row, so any two operations that were mixed up would show."""
    plan = _plan(seed=11, writers=4, count=4)
    catalog = bank.connect()

    with ThreadPoolExecutor(len(plan)) as pool:
        _finish([pool.submit(carry_out, catalog, bank.identifier, operations) for operations in plan])

    _assert_serial(bank, plan)


def test_processes_leave_what_a_serial_order_leaves(bank: Bank) -> None:
    """The same from processes that share nothing but the database."""
    plan = _plan(seed=12, writers=4, count=4)

    with ProcessPoolExecutor(len(plan), mp_context=multiprocessing.get_context("spawn")) as pool:
        calls = [pool.submit(carry_out_in_a_process, bank.properties(), bank.identifier, each) for each in plan]
        _finish(calls)

    _assert_serial(bank, plan)


def test_the_account_function_and_apply_respect_each_other(bank: Bank) -> None:
    """The exercise's function names no operation; deposits add up in any order, so its part is known all the same."""
    named = [[f"deposit|{account}|5|{writer}.{account}" for account in (1, 2, 1)] for writer in range(2)]
    named = [[f"{each}.{number}" for number, each in enumerate(operations)] for operations in named]
    unnamed = ["deposit|1|7|x", "deposit|1|9|y"]
    catalog = bank.connect()

    with ThreadPoolExecutor(4) as pool:
        calls: list[Future[object]] = [pool.submit(carry_out, catalog, bank.identifier, each) for each in named]
        for deposit in unnamed:
            amount = int(deposit.split("|")[2])
            calls.append(pool.submit(_deposit, catalog, amount))
        _finish(calls)

    landed = landed_operation_ids(bank.table().metadata_location)
    assert len(landed) == 6
    assert bank.balances() == replay_accounts(START, [*landed, *unnamed])


def test_the_serial_model_sees_order() -> None:
    """A model to which order does not matter could not tell a reordered update from a right one."""
    operations = ["deposit|1|1000|a", "interest|3|b", "transfer|1|2|1500|c"]

    assert replay_accounts({1: 0, 2: 0}, operations) == {1: 1030, 2: 0}
    assert replay_accounts({1: 0, 2: 0}, ["interest|3|b", "deposit|1|1500|a", "transfer|1|2|1500|c"]) == {1: 0, 2: 1500}
    with pytest.raises(UnknownOperationError):
        replay_accounts({1: 0}, ["gift|1"])
