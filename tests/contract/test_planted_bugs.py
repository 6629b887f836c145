"""The checks can tell: each well-known bug, planted, fails the very check that the real function passes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyiceberg
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table

from seriatim.commit.gate import GateError
from solution import commit_with_retry
from tests.contract.checks import (
    CommitWithRetry,
    check_all_succeed,
    check_fault_on_first_attempt,
    check_fault_on_last_attempt,
    check_loss_is_told,
    check_rival_is_seen,
)
from tests.faults.bank import Bank
from tests.faults.catalog import REPORTS, Fault, Landing

MINOR = tuple(map(int, pyiceberg.__version__.split(".")[:2]))
since_0_12 = pytest.mark.skipif(MINOR < (0, 12), reason="older ones neither retry by themselves nor delete files")
Check = Callable[[CommitWithRetry, Bank], object]


class Loop:
    """The loop as the textbook has it, on a PyIceberg that reports a conflict at once; made anew for each call."""

    retried: type[Exception] = CommitFailedException

    def run(
        self,
        catalog: Catalog,
        identifier: str | tuple[str, ...],
        mutate: Callable[[int], int],
        max_retries: int = 5,
        before_commit: Callable[[int], None] | None = None,
    ) -> int:
        for attempt in range(max_retries):
            table = self.load(catalog, identifier)
            rows = self.read(table)
            new = self.compute(rows, mutate)
            if before_commit is not None:
                before_commit(attempt)
            try:
                table.overwrite(
                    pa.Table.from_pylist([rows[0] | {"bal": new}], schema=table.schema().as_arrow()),
                    overwrite_filter=EqualTo("id", 1),
                )
            except self.retried:
                if attempt + 1 == max_retries:
                    return self.give_up(new)
                continue
            return new
        raise ValueError(max_retries)

    def load(self, catalog: Catalog, identifier: str | tuple[str, ...]) -> Table:
        return catalog.load_table(identifier)

    def read(self, table: Table) -> list[dict[str, int]]:
        rows: list[dict[str, int]] = table.scan(row_filter=EqualTo("id", 1)).to_arrow().to_pylist()
        return rows

    def compute(self, rows: list[dict[str, int]], mutate: Callable[[int], int]) -> int:
        return mutate(rows[0]["bal"])

    def give_up(self, new: int) -> int:
        raise  # noqa: PLE0704  (Called while the conflict is handled.)


class LoadsOnce(Loop):
    """The load stands outside the loop: every attempt is made on the first one's table."""

    def __init__(self) -> None:
        self.tables: list[Table] = []

    def load(self, catalog: Catalog, identifier: str | tuple[str, ...]) -> Table:
        self.tables = self.tables or [super().load(catalog, identifier)]
        return self.tables[0]


class DoesNotRefresh(Loop):
    """It writes to a fresh table what it has read from the first."""

    def __init__(self) -> None:
        self.rows: list[dict[str, int]] = []

    def read(self, table: Table) -> list[dict[str, int]]:
        self.rows = self.rows or super().read(table)
        return self.rows


class ReusesTheValue(Loop):
    """It reads anew and writes what it computed at first."""

    def __init__(self) -> None:
        self.values: list[int] = []

    def compute(self, rows: list[dict[str, int]], mutate: Callable[[int], int]) -> int:
        self.values.append(super().compute(rows, mutate))
        return self.values[0]


class SwallowsTheConflict(Loop):
    """It returns as if the last attempt had been written."""

    def give_up(self, new: int) -> int:
        return new


class RetriesWhatMayHaveLanded(Loop):
    """To it every error is a conflict."""

    retried = Exception


class GivesUpAtOnce(Loop):
    """It passes the first conflict on."""

    retried = NotImplementedError


def rival_is_seen(commit: CommitWithRetry, bank: Bank) -> None:
    check_rival_is_seen(commit, bank, conflicts=2)


def loss_is_told(commit: CommitWithRetry, bank: Bank) -> None:
    check_loss_is_told(commit, bank, max_retries=2)


def all_succeed(commit: CommitWithRetry, bank: Bank) -> None:
    check_all_succeed(commit, bank, [bank.connect(), bank.connect()])


def lost_reply(report: str, landing: Landing = Landing.AT_ONCE) -> Check:
    return lambda commit, bank: check_fault_on_first_attempt(commit, bank, Fault(REPORTS[report](), landing))


def last_reply_lost(report: str, landing: Landing = Landing.AT_ONCE) -> Check:
    return lambda commit, bank: check_fault_on_last_attempt(commit, bank, Fault(REPORTS[report](), landing))


def buggy(bug: type[Loop]) -> CommitWithRetry:
    """Return the function that makes a new loop of this kind for each call."""

    def commit(
        catalog: Catalog,
        identifier: str | tuple[str, ...],
        mutate: Callable[[int], int],
        max_retries: int = 5,
        before_commit: Callable[[int], None] | None = None,
    ) -> int:
        return bug().run(catalog, identifier, mutate, max_retries, before_commit)

    return commit


@pytest.fixture
def prompt_bank(empty_bank: Bank) -> Bank:
    """A table on which PyIceberg 0.12, too, reports a conflict at once: here a bug in the loop shows by itself."""
    return empty_bank.create(properties={"commit.retry.num-retries": "0"})


@pytest.mark.parametrize("check", [rival_is_seen, loss_is_told, all_succeed])
def test_the_loop_without_a_bug_passes(prompt_bank: Bank, check: Check) -> None:
    """So it is the bug that fails, not the loop around it."""
    check(buggy(Loop), prompt_bank)


@pytest.mark.parametrize(
    ("bug", "check"),
    [
        (LoadsOnce, rival_is_seen),
        (LoadsOnce, all_succeed),
        (DoesNotRefresh, rival_is_seen),
        (DoesNotRefresh, all_succeed),
        (ReusesTheValue, rival_is_seen),
        (ReusesTheValue, all_succeed),
        (SwallowsTheConflict, loss_is_told),
        (RetriesWhatMayHaveLanded, lost_reply("StateUnknown")),
        (GivesUpAtOnce, rival_is_seen),
        (GivesUpAtOnce, all_succeed),
    ],
)
def test_a_bug_in_the_loop_is_caught(prompt_bank: Bank, bug: type[Loop], check: Check) -> None:
    """Each of them passes as long as nobody interferes."""
    with pytest.raises(AssertionError):
        check(buggy(bug), prompt_bank)


@since_0_12
@pytest.mark.parametrize("check", [rival_is_seen, loss_is_told, all_succeed])
def test_the_loop_without_a_gate_is_caught(bank: Bank, check: Check) -> None:
    """PyIceberg retries, rebases and refuses by itself, and the loop never hears of a conflict."""
    with pytest.raises(AssertionError):
        check(buggy(Loop), bank)


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("check", [lost_reply, last_reply_lost])
def test_the_loop_without_a_look_up_is_caught(bank: Bank, check: Callable[[str], Check], report: str) -> None:
    """It applies twice, tells the caller of a failure that was none, or PyIceberg has deleted what is live."""
    with pytest.raises(AssertionError):
        check(report)(buggy(Loop), bank)


@since_0_12
@pytest.mark.parametrize("report", ["CommitFailed", "ConnectionError"])
@pytest.mark.parametrize("known", [CommitFailedException, ValidationException])
@pytest.mark.parametrize("check", [lost_reply, last_reply_lost])
def test_a_gate_whose_error_pyiceberg_knows_is_caught(
    bank: Bank,
    monkeypatch: pytest.MonkeyPatch,
    check: Callable[[str], Check],
    known: type[Exception],
    report: str,
) -> None:
    """PyIceberg takes it for a proof that nothing landed, and deletes the files of the current snapshot.

    So it goes where PyIceberg writes: on a table that somebody has prepared.
    """
    prepare(monkeypatch)
    plant(type("GateError", (known,), {}), monkeypatch)

    with pytest.raises(AssertionError):
        check(report)(commit_with_retry, bank)

    assert bank.inventory().missing != []


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("check", [lost_reply, last_reply_lost])
def test_a_table_that_somebody_has_prepared_is_as_safe(
    bank: Bank, monkeypatch: pytest.MonkeyPatch, check: Callable[[str], Check], report: str
) -> None:
    """Its own `overwrite` is called, behind the same gate."""
    calls = prepare(monkeypatch)

    check(report)(commit_with_retry, bank)

    assert calls != []


def prepare(monkeypatch: pytest.MonkeyPatch) -> list[Table]:
    """Put another `overwrite` in place, which does what it has always done; return the tables that it was called on."""
    calls: list[Table] = []
    overwrite = Table.overwrite

    def prepared(table: Table, *args: Any, **options: Any) -> None:
        calls.append(table)
        overwrite(table, *args, **options)

    monkeypatch.setattr(Table, "overwrite", prepared)
    return calls


def plant(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """Put `error` in the place of the gate's own, wherever that is known by name."""
    for name, module in list(sys.modules.items()):
        if name.startswith("seriatim.") and getattr(module, "GateError", None) is GateError:
            monkeypatch.setattr(module, "GateError", error)
