"""Processes of their own that deposit, as separate runs do."""

from __future__ import annotations

import multiprocessing
import operator
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path

from solution import commit_with_retry
from tests.faults.bank import Bank

_together: list[Barrier] = []  # In a worker: the one barrier it was started with.


def deposit_in_processes(path: Path, amounts: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Deposit each list of amounts in a process of its own; return (balance, amount) for every deposit.

    Before its first write each process waits until all have read: all but one meet a conflict.
    """
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(len(amounts), timeout=120)
    with ProcessPoolExecutor(len(amounts), mp_context=spawn, initializer=_together.append, initargs=(barrier,)) as pool:
        results = pool.map(_deposit, [path] * len(amounts), amounts)
        return [deposit for done in results for deposit in done]


def _deposit(path: Path, amounts: Sequence[int]) -> list[tuple[int, int]]:
    bank = Bank(path)
    catalog = bank.connect()

    def before_commit(attempt: int) -> None:
        if _together:
            _together.pop().wait()

    try:
        return [
            (
                commit_with_retry(catalog, bank.identifier, partial(operator.add, amount), 10_000, before_commit),
                amount,
            )
            for amount in amounts
        ]
    finally:
        bank.close()
