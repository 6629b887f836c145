"""What took long to compute is not written where it is of no use any more: the table is looked at once more before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.exceptions import RESTError
from pyiceberg.table import Table

from seriatim import RetryPolicy
from seriatim.commit import Base, Change, Delete, NoChange, Rewrite
from seriatim.commit.observe import Reapplied
from seriatim.errors import ConflictError, RowNotFoundError
from tests.contract.apply_support import Deposit, Told, call
from tests.faults.bank import Bank
from tests.faults.clock import ManualClock
from tests.faults.fileio import FileFaults, Kind, Step, WatchedCatalog

LONG_S = 1.0


class _Bench:
    """A bank with a catalog that counts, and a clock by which computations take as long as a test says."""

    def __init__(self, bank: Bank, took_s: float) -> None:
        self.bank, self.took_s = bank, took_s
        self.clock, self.watch, self.told = ManualClock(), FileFaults(), Told()
        self.catalog = WatchedCatalog("bank", self.watch, **bank.properties())

    @property
    def data_files_written(self) -> int:
        return self.watch.counts[Step.CREATE, Kind.DATA]

    def passes(self, *rivals: Callable[[], object]) -> list[Callable[[], None]]:
        """Return what happens while each attempt computes: time passes, and the rivals have the first attempts."""

        def meanwhile(rival: Callable[[], object] | None) -> Callable[[], None]:
            def happens() -> None:
                self.clock.seconds += self.took_s
                if rival is not None:
                    rival()

            return happens

        return [meanwhile(rival) for rival in (*rivals, None)]

    def deposit(self, *rivals: Callable[[], object], **options: object) -> tuple[int, int, int]:
        """Deposit 10 into account 1, and return attempts, computations and how often the table was loaded."""
        change = Deposit(10, *self.passes(*rivals))
        receipt = call(self.bank, change, "ours", catalog=self.catalog, clock=self.clock, observer=self.told, **options)
        return receipt.attempts, len(change.bases), len(self.catalog.loaded)


@pytest.fixture
def long(bank: Bank) -> _Bench:
    """A change that takes as long to compute as makes a second look worth it."""
    return _Bench(bank, LONG_S)


def test_nothing_is_written_from_a_base_that_is_of_no_use(long: _Bench) -> None:
    """The conflict is told as any other; the second computation is the one that is written."""
    attempts, computed, _ = long.deposit(lambda: long.bank.deposit(5))

    assert (attempts, computed, long.data_files_written) == (2, 2, 1)
    assert long.bank.balances()[1] == 115
    [conflict] = long.told.conflicts
    assert (conflict.attempt, conflict.actual_snapshot_id) == (1, long.bank.snapshot_ids()[-2])
    assert len([event for event in long.told.events if isinstance(event, Reapplied)]) == 1


def test_what_was_computed_is_kept_where_the_rival_changed_nothing_of_it(empty_bank: Bank) -> None:
    """It is rebased, as after a short computation."""
    bank = empty_bank.create(file_per_row=True)
    long = _Bench(bank, LONG_S)

    attempts, computed, _ = long.deposit(lambda: bank.change(2, bal=5))

    assert (attempts, computed, long.data_files_written) == (2, 1, 1)
    assert bank.balances() == {1: 110, 2: 5, 3: 300}


@pytest.mark.parametrize("change", [NoChange(), Delete("id == 77")], ids=["no change", "nothing to delete"])
def test_what_writes_nothing_is_done_whatever_came_in_between(long: _Bench, change: Change) -> None:
    """There is nothing to save."""
    [passes, _] = long.passes(lambda: long.bank.deposit(5))

    def computed(base: Base) -> Change:
        passes()
        return change

    receipt = call(long.bank, computed, catalog=long.catalog, clock=long.clock, observer=long.told)

    assert (receipt.attempts, receipt.conflicts, receipt.is_noop) == (0, (), True)


def test_a_change_that_does_not_fit_is_told_at_once(long: _Bench) -> None:
    """However often the table moves."""
    [passes, _] = long.passes(lambda: long.bank.deposit(5))
    absent = pa.table({"id": pa.array([77], pa.int64()), "bal": pa.array([1], pa.int64())})

    def computed(base: Base) -> Change:
        passes()
        return Rewrite(absent, keys="id")

    with pytest.raises(RowNotFoundError):
        call(long.bank, computed, catalog=long.catalog, clock=long.clock)


@pytest.mark.parametrize(("took_s", "looks"), [(LONG_S, 1), (LONG_S * 0.99, 0)])
def test_a_short_computation_is_not_worth_a_look(bank: Bank, took_s: float, looks: int) -> None:
    """A look is a request to the catalog."""
    assert _Bench(bank, took_s).deposit() == (1, 1, 1 + looks)


def test_a_look_that_fails_keeps_nobody_from_committing(long: _Bench) -> None:
    """The commit finds out what is the matter with the catalog, if anything is."""
    long.catalog.fail_loads(None, RESTError("a look too many"))

    assert long.deposit()[:2] == (1, 1)
    assert long.catalog.script_is_done
    assert long.bank.balances()[1] == 110


def test_a_change_that_is_always_overtaken_is_a_conflict_and_leaves_nothing(long: _Bench) -> None:
    """Of the values that it met last."""
    rivals = [lambda: long.bank.deposit(5)] * 3

    with pytest.raises(ConflictError) as caught:
        long.deposit(*rivals, policy=RetryPolicy(attempts_max=3))

    assert (caught.value.attempts, caught.value.actual) == (3, long.bank.head())
    assert long.data_files_written == 0
    assert long.bank.balances()[1] == 115


def test_a_rival_that_is_taken_back_leaves_the_change_to_be_computed_anew(long: _Bench) -> None:
    """The base is the same again, and there is nothing left of what was computed from it."""
    base = long.bank.head()
    once = iter([lambda: long.bank.roll_back(base)])

    class Catalog(WatchedCatalog):
        """One for which the rival's deposit is taken back right after the second look."""

        def load_table(self, identifier: Any) -> Table:
            table = super().load_table(identifier)
            if len(self.loaded) == 2:
                next(once)()
            return table

    long.catalog = Catalog("bank", long.watch, **long.bank.properties())

    attempts, computed, _ = long.deposit(lambda: long.bank.deposit(5))

    assert (attempts, computed, long.data_files_written) == (2, 2, 1)
    assert long.bank.balances()[1] == 110
