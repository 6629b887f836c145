"""Processes of their own that deposit, as separate runs do."""

from __future__ import annotations

import multiprocessing
import operator
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pyarrow as pa

from seriatim import Base, Rewrite, Turnstile, apply
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


def deposit_in_turns(path: Path, *, processes: int, threads: int, each: int, turnstile: Turnstile) -> int:
    """Add 1 to account 1, `each` times in each thread of each process; return how many attempts that took."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=spawn) as pool:
        return sum(pool.map(_deposit_in_threads, *zip(*[(path, threads, each, turnstile)] * processes, strict=True)))


def _deposit_in_threads(path: Path, threads: int, each: int, turnstile: Turnstile) -> int:
    bank = Bank(path)

    def work(_: int) -> int:
        catalog = bank.connect()
        calls = [apply(catalog, bank.identifier, _add_one, turnstile=turnstile) for _ in range(each)]
        return sum(receipt.attempts for receipt in calls)

    try:
        with ThreadPoolExecutor(threads) as pool:
            return sum(pool.map(work, range(threads)))
    finally:
        bank.close()


def _add_one(base: Base) -> Rewrite:
    rows = base.read(where="id == 1").to_pylist()
    changed = [{**row, "bal": row["bal"] + 1} for row in rows]
    return Rewrite(pa.Table.from_pylist(changed, schema=base.schema.as_arrow()), keys="id")
