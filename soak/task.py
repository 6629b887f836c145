"""What an operation does: all of it follows from its name, so that whoever knows the name can do it, or check it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

ACCOUNTS: Final = 200  # They are there from the beginning, and stay.
OPENING_BALANCE: Final = 1_000_00
INTEREST_SPAN: Final = 20  # accounts

_WEIGHTS: Final = {
    "deposit": 35,
    "transfer": 20,
    "interest": 10,
    "open": 10,
    "upsert": 10,
    "close": 5,
    "pinned deposit": 10,
}
KINDS: Final = tuple(_WEIGHTS)
_FIRST_OPENED: Final = 1_000
_WRITERS_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class Task:
    """One operation: its kind, the accounts it is about, and how much."""

    operation_id: str
    kind: str
    account: int
    other: int
    amount: int


def name_of(seed: int, writer: int, number: int) -> str:
    """Return the name of a writer's operation, counted from 0."""
    return f"{seed}/{writer}/{number}"


def task_of(operation_id: str) -> Task:
    """Return what an operation does."""
    _, writer, number = map(int, operation_id.split("/"))
    chance = Random(operation_id)  # A text seeds it the same in every process.
    (kind,) = chance.choices(KINDS, list(_WEIGHTS.values()))
    account, other = chance.sample(range(1, ACCOUNTS + 1), 2)
    amount = chance.randrange(1, 500_00)
    if kind == "open":
        account = _opened_by(writer, number)
    elif kind == "upsert":
        other = _opened_by(writer, chance.randrange(number + 1))
    elif kind == "close":
        account = _opened_by(writer, chance.randrange(number + 1))  # It may not be there: nothing is closed then.
    return Task(operation_id, kind, account, other, amount)


def _opened_by(writer: int, number: int) -> int:
    """Return the account that only this operation of this writer may open, or an upsert of the writer's."""
    return _FIRST_OPENED + number * _WRITERS_MAX + writer
