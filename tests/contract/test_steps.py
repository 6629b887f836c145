"""The exercise to the letter: signature, steps, their order, and the objects they are made on."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table
from pyiceberg.table.update import (
    AssertCurrentSchemaId,
    AssertDefaultSpecId,
    AssertRefSnapshotId,
    AssertTableUUID,
)

from solution import commit_with_retry, read_balance
from tests.contract.checks import add, check_handed_back
from tests.faults.bank import Bank
from tests.faults.catalog import FaultyCatalog


def test_the_signatures_are_those_of_the_exercise() -> None:
    """Its tests pass arguments by position and by name."""
    commit, read = inspect.signature(commit_with_retry).parameters, inspect.signature(read_balance).parameters

    assert list(commit) == ["catalog", "identifier", "mutate", "max_retries", "before_commit"]
    assert {one.kind for one in commit.values()} == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    assert (commit["max_retries"].default, commit["before_commit"].default) == (5, None)
    assert list(read) == ["table"]


def test_arguments_go_by_position(bank: Bank) -> None:
    """All five of them."""
    attempts: list[int] = []

    assert commit_with_retry(bank.connect(), bank.identifier, lambda balance: balance + 1, 1, attempts.append) == 101
    assert attempts == [0]


def test_only_the_first_three_arguments_are_needed(bank: Bank) -> None:
    """There need be nobody to tell before a commit."""
    assert commit_with_retry(bank.connect(), bank.identifier, lambda balance: balance - 1) == 99
    assert bank.balances() == {1: 99, 2: 200, 3: 300}


@pytest.mark.parametrize("identifier", ["bank.account", ("bank", "account")])
def test_the_table_is_named_by_string_or_tuple(bank: Bank, identifier: str | tuple[str, ...]) -> None:
    """PyIceberg takes both, so do we."""
    assert commit_with_retry(bank.connect(), identifier, lambda balance: balance + 1) == 101
    assert bank.balances()[1] == 101


def test_read_balance_reads_the_table_it_is_given(bank: Bank) -> None:
    """It neither loads nor refreshes: what a table object shows is the caller's choice."""
    catalog = bank.connect()
    before = catalog.load_table(bank.identifier)
    bank.deposit(5)
    after = catalog.load_table(bank.identifier)

    assert (read_balance(before), read_balance(after)) == (100, 105)
    assert type(read_balance(before)) is int
    assert len(catalog.loaded) == 2


def test_mutate_gets_and_the_caller_receives_plain_ints(bank: Bank) -> None:
    """An Arrow scalar would leak into the caller's arithmetic."""
    call = add(commit_with_retry, bank.connect(), 5)

    assert [type(value) for value in (*call.seen, call.value)] == [int, int]
    assert (call.seen, call.value) == ([100], 105)


def test_a_balance_that_does_not_change_is_written_too(bank: Bank) -> None:
    """A write that is left out would not meet the rival's: the caller is told of a commit that never was."""
    before = bank.head()

    assert commit_with_retry(bank.connect(), bank.identifier, lambda balance: balance) == 100
    assert bank.head() != before


class Spy:
    """Notes what is done with the tables that `catalog` hands out; what rivals do with theirs is not noted."""

    def __init__(self, catalog: FaultyCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
        self.catalog = catalog
        self.steps: list[str] = []
        self.overwrites: list[tuple[Table, tuple[Any, ...], dict[str, Any]]] = []
        for name in ("scan", "overwrite"):
            monkeypatch.setattr(Table, name, self._noting(name, getattr(Table, name)))
        monkeypatch.setattr(catalog, "load_table", self._loading(catalog.load_table))

    def _loading(self, load: Callable[[Any], Table]) -> Callable[[Any], Table]:
        def noted(identifier: Any) -> Table:
            known = len(self.catalog.loaded)
            table = load(identifier)
            self.steps += ["load"] * (len(self.catalog.loaded) - known)  # Not the catalog's own, inside a commit.
            return table

        return noted

    def _noting(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(table: Table, *args: Any, **kwargs: Any) -> Any:
            if any(table is one for one in self.catalog.loaded):
                self.steps.append(name)
                if name == "overwrite":
                    self.overwrites.append((table, args, kwargs))
            return method(table, *args, **kwargs)

        return noted


def test_each_attempt_loads_reads_mutates_tells_and_writes_in_this_order(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever gets in between anywhere after the load makes the commit fail, and the attempt start anew."""
    spy = Spy(bank.connect(), monkeypatch)

    def mutate(balance: int) -> int:
        spy.steps.append(f"mutate {balance}")
        return balance + 1

    def before_commit(attempt: int) -> None:
        spy.steps.append(f"before_commit {attempt}")
        if attempt == 0:
            bank.deposit(10)

    assert commit_with_retry(spy.catalog, bank.identifier, mutate, before_commit=before_commit) == 111
    assert spy.steps == [
        *("load", "scan", "mutate 100", "before_commit 0", "overwrite"),
        *("load", "scan", "mutate 110", "before_commit 1", "overwrite"),
    ]


def test_the_very_tables_that_were_loaded_overwrite_one_row_where_id_is_1(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test may watch the table object that its catalog handed out, and reads these two arguments."""
    spy = Spy(bank.connect(), monkeypatch)

    add(commit_with_retry, spy.catalog, 1, rival=lambda attempt: bank.deposit(10) if attempt == 0 else None)

    assert len(spy.overwrites) == 2
    for loaded, (table, args, kwargs), balance in zip(spy.catalog.loaded, spy.overwrites, (101, 111), strict=True):
        assert table is loaded
        assert [rows.to_pylist() for rows in args] == [[{"id": 1, "bal": balance}]]
        assert kwargs == {"overwrite_filter": EqualTo("id", 1)}
    check_handed_back(spy.catalog)


def test_each_commit_demands_the_base_it_was_computed_from(bank: Bank) -> None:
    """Table, snapshot, schema and partition spec are checked inside the catalog's compare-and-swap, not before it."""
    catalog = bank.connect()
    base = bank.table().metadata

    add(commit_with_retry, catalog, 1)

    (_, requirements, _), *others = catalog.submitted
    assert others == []
    assert {type(one): one for one in requirements} == {
        AssertTableUUID: AssertTableUUID(uuid=base.table_uuid),
        AssertRefSnapshotId: AssertRefSnapshotId(ref="main", snapshot_id=base.current_snapshot_id),
        AssertCurrentSchemaId: AssertCurrentSchemaId(current_schema_id=base.current_schema_id),
        AssertDefaultSpecId: AssertDefaultSpecId(default_spec_id=base.default_spec_id),
    }
