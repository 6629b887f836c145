"""Where others write rows of their own, a change is computed before its turn, and its turn is for landing it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from seriatim.commit import Base, Receipt, Rewrite, pinned
from seriatim.commit.observe import Reapplied, Rebased
from seriatim.system import Clock
from tests.contract.apply_support import Deposit, Told, call
from tests.contract.checks import check_no_residue
from tests.faults.bank import Bank

AHEAD, IN_TURN = ["computed", "turn"], ["turn", "computed"]


class Teller:
    """Deposits to account 1, notes when it computes and when it has its turn, and lets something happen before that."""

    wait_s_max = 60.0

    def __init__(self, bank: Bank) -> None:
        self.bank = bank
        self.steps: list[str] = []
        self.before_turn: list[Callable[[], object]] = []

    def turn(self, line: str, *, wait_s_max: float, clock: Clock) -> AbstractContextManager[None]:
        self.steps.append("turn")
        while self.before_turn:
            self.before_turn.pop(0)()
        return nullcontext()

    def deposit(
        self, amount: int, *before_turn: Callable[[], object], names: Sequence[str] = (), **options: Any
    ) -> tuple[Receipt, list[str]]:
        """Return the receipt, and what was done in which order."""
        self.steps, self.before_turn = [], list(before_turn)
        change = Deposit(amount)

        def noting(base: Base) -> Rewrite:
            self.steps.append("computed")
            return change(base)

        return call(self.bank, noting, *names, turnstile=self, **options), self.steps


@pytest.fixture
def teller(empty_bank: Bank) -> Teller:
    """Return one who has landed a deposit, and has seen that somebody else changed another account since."""
    bank = empty_bank.create(
        spec=PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id")),
        file_per_row=True,
        properties={"commit.manifest-merge.enabled": "false"},
    )
    result = Teller(bank)
    for _ in range(2):
        assert result.deposit(1, lambda: bank.change(2, bal=0))[1] == IN_TURN
    return result


def test_a_change_that_was_computed_before_its_turn_is_landed_in_it(teller: Teller) -> None:
    """Others have landed while it waited: it is rebased, at the first attempt."""
    told, base = Told(), teller.bank.head()

    receipt, steps = teller.deposit(10, lambda: teller.bank.change(3, bal=5), observer=told)

    assert steps == AHEAD
    assert (receipt.attempts, receipt.rebases, told.conflicts) == (1, 1, [])
    assert [event.attempt for event in told.events if isinstance(event, Rebased)] == [1]
    landed = teller.bank.table().current_snapshot()
    assert landed is not None
    assert landed.summary is not None
    assert landed.summary.additional_properties["seriatim.computed-on-snapshot-id"] == str(base)
    assert teller.bank.balances() == {1: 112, 2: 0, 3: 5}
    check_no_residue(teller.bank)


def test_a_change_whose_rows_were_changed_while_it_waited_is_computed_again(teller: Teller) -> None:
    """Nothing is lost, the files of the first computation are removed, and the next call computes in its turn."""
    told = Told()

    receipt, steps = teller.deposit(10, lambda: teller.bank.deposit(1_000), observer=told)

    assert steps == [*AHEAD, "computed"]
    assert (receipt.attempts, receipt.rebases, told.conflicts) == (1, 0, [])
    assert [event.attempt for event in told.events if isinstance(event, Reapplied)] == [1]
    assert teller.bank.balances()[1] == 1_112
    check_no_residue(teller.bank)
    teller.bank.change(2, bal=1)
    assert teller.deposit(1)[1] == IN_TURN
    teller.bank.change(2, bal=2)
    assert teller.deposit(1)[1] == AHEAD


def test_nobody_computes_ahead_while_nobody_else_writes(teller: Teller) -> None:
    assert teller.deposit(1)[1] == AHEAD
    assert teller.deposit(1)[1] == IN_TURN


def test_whose_rows_are_written_by_others_computes_in_its_turn(teller: Teller) -> None:
    teller.bank.deposit(1)
    teller.deposit(1)  # Ahead, since the time before others had written elsewhere.
    teller.bank.deposit(1)

    assert teller.deposit(1)[1] == IN_TURN
    assert teller.bank.balances()[1] == 100 + 2 + 4


def test_an_operation_that_has_landed_is_computed_neither_ahead_nor_in_the_turn(teller: Teller) -> None:
    teller.deposit(10, lambda: teller.bank.change(2, bal=1), names=["it"])
    teller.bank.change(2, bal=2)

    receipt, steps = teller.deposit(10, names=["it"])

    assert steps == ["turn"]
    assert list(receipt.already_applied) == ["it"]
    assert teller.bank.balances()[1] == 112


def test_an_operation_that_lands_while_it_waits_is_done_once(teller: Teller) -> None:
    """Somebody else's retry of it came first: what was computed ahead is of no use."""
    receipt, steps = teller.deposit(10, lambda: call(teller.bank, Deposit(10), "it"), names=["it"])

    assert steps == AHEAD
    assert list(receipt.already_applied) == ["it"]
    assert teller.bank.balances()[1] == 112
    check_no_residue(teller.bank)


def test_a_change_for_one_base_is_computed_on_that_base_alone(teller: Teller) -> None:
    _, steps = teller.deposit(10, expected_base=teller.bank.head())

    assert steps == IN_TURN


def test_work_that_fits_one_base_alone_is_not_done_ahead(teller: Teller) -> None:
    """`pinned` on the same table, in the same process: nothing is looked at before its turn, and nothing done again."""
    catalog, told = teller.bank.connect(), Told()
    teller.steps, teller.before_turn = [], [lambda: teller.steps.append(f"{len(catalog.loaded)} loads")]

    delete = partial(Table.delete, delete_filter="id == 3")
    receipt = pinned(catalog, teller.bank.identifier, delete, turnstile=teller, observer=told)

    assert teller.steps == ["turn", "0 loads"]
    assert (receipt.attempts, [each for each in told.events if isinstance(each, Reapplied)]) == (1, [])
    assert teller.bank.balances() == {1: 102, 2: 0}


def test_what_fails_ahead_and_not_in_the_turn_is_not_tried_again_at_once(teller: Teller) -> None:
    order: list[str] = []

    def fails_first(base: Base) -> Rewrite:
        order.append("computed")
        if len(order) == 1:
            raise ZeroDivisionError
        return Deposit(10)(base)

    teller.before_turn = [lambda: teller.bank.change(2, bal=1)]
    call(teller.bank, fails_first, turnstile=teller)
    teller.bank.change(2, bal=2)

    assert len(order) == 2
    assert teller.deposit(1)[1] == IN_TURN


def test_what_fails_ahead_fails_in_the_turn(teller: Teller) -> None:
    """It is told as it always is; nothing is written."""
    order: list[str] = []

    def fail(base: Base) -> Rewrite:
        order.append("computed")
        raise ZeroDivisionError(f"the {len(order)}. time")

    with pytest.raises(ZeroDivisionError, match=r"the 2\. time"):
        call(teller.bank, fail, turnstile=teller)

    assert teller.bank.balances()[1] == 102
    check_no_residue(teller.bank)


def test_a_table_that_cannot_be_loaded_ahead_is_loaded_in_the_turn(teller: Teller) -> None:
    catalog = teller.bank.connect().fail_loads(ConnectionError("the network is down"))

    receipt, steps = teller.deposit(10, catalog=catalog)

    assert (steps, receipt.attempts) == (IN_TURN, 1)
    assert teller.bank.balances()[1] == 112
