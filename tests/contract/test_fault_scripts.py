"""Faults and rivals in any order: whatever happens, the call ends in the truth, and nothing live is deleted."""

from __future__ import annotations

import random

import pytest

from seriatim.errors import ConflictError, OutcomeUnknownError
from solution import commit_with_retry
from tests.contract.checks import Call, add, check_handed_back, check_intact, check_no_residue
from tests.faults.bank import Bank
from tests.faults.catalog import REPORTS, Fault, Landing

SEEDS = 16
AMOUNT = 7  # Ours; a rival's is a multiple of 1000, so that a balance tells who is in it.


class Script:
    """One run: what the rivals do, and what happens to the commits."""

    def __init__(self, bank: Bank, seed: int) -> None:
        self._bank, self._chance = bank, random.Random(seed)
        self.deposited = 0
        self.max_retries = self._chance.randint(1, 4)
        self.faults = [self._fault() if self._chance.random() < 0.7 else None for _ in range(self.max_retries)]

    def _fault(self) -> Fault:
        report = self._chance.choice([*REPORTS.values()])
        return Fault(report(), self._chance.choice([*Landing]), self.rival)

    def rival(self, attempt: int = 0) -> None:
        """Do something, or nothing."""
        what = self._chance.random()
        if what < 0.25:
            self.deposited += 1000
            self._bank.deposit(1000)
        elif what < 0.35:
            self._bank.compact()
        elif what < 0.40:
            self._bank.set_property("seen", str(what))


def check_ending(bank: Bank, call: Call, rivals: int) -> None:
    """What the caller was told is so."""
    ours = bank.balances()[1] - 100 - rivals
    if call.error is None:
        assert ours == AMOUNT
        assert call.value is not None
        assert call.value % 1000 == 100 + AMOUNT
        check_no_residue(bank)
    elif isinstance(call.error, OutcomeUnknownError):
        assert ours in (0, AMOUNT)
    else:
        assert isinstance(call.error, ConflictError)
        assert ours == 0
        check_no_residue(bank)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_whatever_happens_the_ending_is_true(empty_bank: Bank, seed: int) -> None:
    """To replay one: `pytest tests/contract/test_fault_scripts.py -k "[SEED]"`."""
    bank = empty_bank.create(file_per_row=bool(seed % 2))
    script = Script(bank, seed)
    catalog = bank.connect().fail(*script.faults)

    call = add(commit_with_retry, catalog, AMOUNT, rival=script.rival, max_retries=script.max_retries)

    check_ending(bank, call, script.deposited)
    check_intact(bank)
    check_handed_back(catalog)

    catalog.deliver()  # Requests that are still on their way arrive; only an ending called unknown may change.

    check_ending(bank, call, script.deposited)
    check_intact(bank)
