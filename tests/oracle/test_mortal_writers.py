"""Writers in processes that are killed at every gate of a commit leave what a serial order leaves (P4, P5).

What was acknowledged is in, once; what was not is in at most once; what was refused is not. The seed is printed;
`SERIATIM_SEED` draws another one. Processes are the machine's to schedule: the same seed kills at the same gates.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from oracle.lineage import landed_operation_ids
from seriatim.inspection.lookup import Applied, NotApplied, lookup
from tests.faults.bank import Bank
from tests.faults.mortals import COMPACT, Toll, write_and_die
from tests.oracle.serial import replay
from tests.oracle.work import invent

START: Final = dict.fromkeys(range(1, 9), 1000)
KEPT: Final = {"history.expire.min-snapshots-to-keep": "100000"}
SEED: Final = int(os.environ.get("SERIATIM_SEED", "31"))


@pytest.fixture
def empty_bank(tmp_path: Path) -> Iterator[Bank]:
    bank = Bank(tmp_path)
    yield bank
    bank.close()


def _mixed(writers: int, count: int) -> list[list[str]]:
    rng = random.Random(SEED)
    plan = [[invent(rng, len(START), f"{writer}.{number}") for number in range(count)] for writer in range(writers)]
    for operations in plan:
        operations.insert(rng.randrange(count), COMPACT)
    return plan


def _deposits(writers: int, count: int) -> list[list[str]]:
    """Return operations that add up in any order: where the history is cut, it tells of none."""
    rng = random.Random(SEED)
    return [
        [f"deposit|{rng.randrange(1, 9)}|{rng.randrange(1, 400)}|{writer}.{number}" for number in range(count)]
        for writer in range(writers)
    ]


def _open(bank: Bank, properties: dict[str, str]) -> None:
    bank.create([{"id": account, "bal": balance} for account, balance in START.items()], properties=properties)


def _judge(bank: Bank, plan: Sequence[Sequence[str]], toll: Toll) -> None:
    """Judge a table whose whole history is there."""
    landed = landed_operation_ids(bank.table().metadata_location)  # It refuses one that landed twice.
    _judge_names(bank, plan, toll, set(landed))
    for operations in plan:  # A writer's own operations land in the order in which it made them.
        assert [one for one in landed if one in set(operations)] == [one for one in operations if one in set(landed)]
    assert bank.balances() == replay(START, landed)


def _judge_names(bank: Bank, plan: Sequence[Sequence[str]], toll: Toll, landed: set[str]) -> None:
    named = {one for operations in plan for one in operations} - {COMPACT}
    assert toll.errors == []
    assert toll.killed > 0
    assert toll.acknowledged | toll.refused | toll.abandoned == named
    assert toll.acknowledged <= landed
    assert landed <= toll.acknowledged | toll.abandoned
    assert _found(bank, named) == landed
    assert bank.inventory().missing == []
    print(
        f"{len(toll.acknowledged)} acknowledged, {len(toll.refused)} refused, {len(toll.abandoned)} abandoned "
        f"({len(landed & toll.abandoned)} of them landed), {toll.killed} processes killed"
    )


def _found(bank: Bank, names: set[str]) -> set[str]:
    """Return what `lookup` finds; of the others it must know that they are not there."""
    catalog = bank.connect()
    told = {name: lookup(catalog, bank.identifier, name) for name in names}
    assert {type(each) for each in told.values()} <= {Applied, NotApplied}
    return {name for name, each in told.items() if isinstance(each, Applied)}


def _judge_deposits(bank: Bank, plan: Sequence[Sequence[str]], toll: Toll) -> None:
    """Judge a table that keeps twenty snapshots: by its ledger, and by balances that no order changes."""
    found = _found(bank, {one for operations in plan for one in operations})
    _judge_names(bank, plan, toll, found)
    assert bank.balances() == replay(START, sorted(found))
    assert len(bank.snapshot_ids()) <= 21


@pytest.mark.exhaustive
@pytest.mark.parametrize(("writers", "count"), [(4, 40), (16, 63)])
def test_killed_writers_leave_what_a_serial_order_leaves(empty_bank: Bank, writers: int, count: int) -> None:
    """Operations of every kind, and compactions."""
    _open(empty_bank, KEPT)
    plan = _mixed(writers=writers, count=count)

    _judge(empty_bank, plan, write_and_die(empty_bank.path, plan, SEED))


@pytest.mark.parametrize(
    ("writers", "count"),
    [pytest.param(4, 20, marks=pytest.mark.slow), pytest.param(16, 63, marks=pytest.mark.exhaustive)],
)
def test_killed_writers_of_a_short_history_lose_and_double_nothing(empty_bank: Bank, writers: int, count: int) -> None:
    """Commits expire the history as they go: only the ledger knows what was applied."""
    _open(empty_bank, {})
    plan = _deposits(writers=writers, count=count)

    _judge_deposits(empty_bank, plan, write_and_die(empty_bank.path, plan, SEED))
