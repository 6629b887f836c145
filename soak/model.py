"""The judge's idea of the table: balances in a dict, changed by one operation after another. Knows nothing of ours."""

from __future__ import annotations

from collections.abc import Iterable

from soak.task import ACCOUNTS, INTEREST_SPAN, OPENING_BALANCE, Task, task_of


def replay(operation_ids: Iterable[str]) -> dict[int, int]:
    """Return the balance of each account after these operations, in this order."""
    balances = dict.fromkeys(range(1, ACCOUNTS + 1), OPENING_BALANCE)
    for operation_id in operation_ids:
        _apply(task_of(operation_id), balances)
    return balances


def _apply(task: Task, balances: dict[int, int]) -> None:
    match task.kind:
        case "deposit" | "pinned deposit":
            balances[task.account] += task.amount
        case "transfer":
            if balances[task.account] >= task.amount:  # What is there decides, so that the order matters.
                balances[task.account] -= task.amount
                balances[task.other] += task.amount
        case "interest":
            _pay_interest(task, balances)
        case "open":
            balances.setdefault(task.account, task.amount)
        case "upsert":
            for account in (task.account, task.other):
                balances[account] = balances.get(account, 0) + task.amount
        case "close":
            balances.pop(task.account, None)
        case _:
            raise AssertionError(f"no kind {task.kind!r}")


def _pay_interest(task: Task, balances: dict[int, int]) -> None:
    for account in range(task.account, min(task.account + INTEREST_SPAN, ACCOUNTS + 1)):
        if balances[account] > 0:
            balances[account] += balances[account] // 100
