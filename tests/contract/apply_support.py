"""Changes and calls that the tests of `apply` share."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from seriatim.commit import Append, Base, Conflict, Event, Receipt, RetryPolicy, Rewrite, apply
from tests.faults.bank import Bank
from tests.faults.clock import ManualClock

Meanwhile = Callable[[], None]


class Told:
    """An observer that keeps what it was told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    @property
    def conflicts(self) -> list[Conflict]:
        return [event for event in self.events if isinstance(event, Conflict)]

    def notify(self, event: Event) -> None:
        self.events.append(event)


class Deposit:
    """Adds `amount` to an account, computed from its balance; `bases` holds each base it was computed from.

    `meanwhile` holds what happens after the read and before the write of the first attempt, the second, and so on.
    """

    def __init__(self, amount: int, *meanwhile: Meanwhile, account_id: int = 1) -> None:
        self.amount, self.account_id = amount, account_id
        self.bases: list[Base] = []
        self._meanwhile = list(meanwhile)

    def __call__(self, base: Base) -> Rewrite:
        self.bases.append(base)
        rows = base.read(where=f"id == {self.account_id}").to_pylist()
        if self._meanwhile:
            self._meanwhile.pop(0)()
        changed = [{**row, "bal": row["bal"] + self.amount} for row in rows]
        return Rewrite(pa.Table.from_pylist(changed, schema=base.schema.as_arrow()), keys="id")


def opening(account_id: int, balance: int, *meanwhile: Meanwhile) -> Callable[[Base], Append]:
    """Return a change that appends an account; `meanwhile` happens before it is written for the first time."""
    left = list(meanwhile)

    def change(base: Base) -> Append:
        if left:
            left.pop(0)()
        return Append(pa.Table.from_pylist([{"id": account_id, "bal": balance}], schema=base.schema.as_arrow()))

    return change


def settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options on top of a clock that stands still, chance that is seeded, and few attempts."""
    return {
        "clock": ManualClock(),
        "chance": random.Random(1),
        "policy": RetryPolicy(attempts_max=5),
        **options,
    }


def call(bank: Bank, change: Any, *operation_ids: str, **options: Any) -> Receipt:
    """Call `apply` through a fresh catalog, or the one among the options."""
    catalog = options.pop("catalog", None) or bank.connect()
    return apply(catalog, bank.identifier, change, operation_ids=operation_ids, **settings(options))
