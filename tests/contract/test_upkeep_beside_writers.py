"""Upkeep while processes write, and while some of them are killed: nothing that anybody needs is ever removed."""

from __future__ import annotations

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from seriatim.commit import RetentionPolicy
from seriatim.errors import ConflictError
from seriatim.upkeep import compact, expire, remove_orphans
from tests.contract.ledger_support import note
from tests.contract.upkeep_support import age, home, litter, readings
from tests.faults.bank import THREE_ACCOUNTS, Bank
from tests.faults.victim import Gate, do_in_a_process

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL, and no fork")

HOUR_S = 3600.0
KEEP = RetentionPolicy(snapshots_min=10)  # Less than the writers keep; no attempt is that far behind.
Readings = dict[int, list[dict[str, Any]]]


@pytest.mark.parametrize(
    ("writers", "deposits"),
    [pytest.param(3, 4, id="3 x 4"), pytest.param(8, 10, id="8 x 10", marks=pytest.mark.slow)],
)
def test_upkeep_beside_writers_and_kills_removes_nothing_that_is_needed(
    empty_bank: Bank, writers: int, deposits: int
) -> None:
    """Each deposit lands once, and every snapshot that is retained reads as it did when it was new.

    What is committed is made to look old, so that expiry makes orphans that go at once. What a pending attempt has
    written is as young as it is.
    """
    bank = empty_bank.create([*THREE_ACCOUNTS, *({"id": n, "bal": 0} for n in range(10, 30))], file_per_row=True)
    upkeep = _Upkeep(bank)

    with ThreadPoolExecutor(writers) as pool:
        done = [pool.submit(_write, bank.path, writer, deposits) for writer in range(writers)]
        while not all(each.done() for each in done):
            upkeep.go_round()
    kills = sum(each.result() for each in done)
    upkeep.go_round()

    assert bank.balances()[1] == 100 + 7 * writers * deposits
    assert len(bank.rows()) == 23
    assert all(note(bank, f"{writer}-{number}").is_noop for writer in range(writers) for number in range(deposits))
    upkeep.check()
    assert kills > 0
    assert upkeep.expired > 0
    assert upkeep.removed > upkeep.littered > 0
    assert not list(home(bank).rglob("*litter*"))

    age(*(path for path in home(bank).rglob("*") if path.is_file()))
    remove_orphans(bank.connect(), bank.identifier, dry_run=False)
    upkeep.check()
    assert bank.inventory().unreachable == []


class _Upkeep:
    """Upkeep that goes on and on, and remembers how each snapshot read when it saw it first."""

    def __init__(self, bank: Bank) -> None:
        self.bank = bank
        self.seen: Readings = {}
        self.expired = self.removed = self.littered = self.compacted = 0

    def go_round(self) -> None:
        catalog, identifier = self.bank.connect(), self.bank.identifier
        inventory = self.bank.inventory()
        age(*(path for path in inventory.reachable if path.exists()))
        litter(home(self.bank) / "data", f"{self.littered}-litter.parquet")
        self.littered += 1
        self.expired += len(expire(catalog, identifier, retention=KEEP, dry_run=False).expired)
        with suppress(ConflictError):  # The writers were faster; they may be.
            self.compacted += compact(catalog, identifier).files_removed
        self.removed += remove_orphans(catalog, identifier, older_than_s=HOUR_S, dry_run=False).removed
        catalog.engine.dispose()
        self.check()

    def check(self) -> None:
        """Read every retained snapshot, and compare it with what it was."""
        now = readings(self.bank.table())
        for id_, rows in now.items():
            assert self.seen.setdefault(id_, rows) == rows


def _write(path: Path, writer: int, deposits: int) -> int:
    """Make the deposits, each in a process of its own; return how many processes were killed on the way."""
    chance, kills = random.Random(writer), 0
    for number in range(deposits):
        gate = chance.choice(list(Gate)) if chance.random() < 0.5 else Gate.NOWHERE
        ending = do_in_a_process(path, "rewrite", (f"{writer}-{number}",), gate, attempts_max=100)
        while ending.returned is None:  # The exit code of a process that another thread started beside may be lost.
            assert ending.exit_code != 1, "it ended with an error, which is printed above"
            kills += 1
            ending = do_in_a_process(path, "rewrite", (f"{writer}-{number}",), Gate.NOWHERE, attempts_max=100)
    return kills
