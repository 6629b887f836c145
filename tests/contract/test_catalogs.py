"""Any catalog will do: others of PyIceberg's, one that only loads, and a stub whose tables only scan and overwrite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table

from seriatim.errors import BalanceError
from solution import commit_with_retry, read_balance
from tests.contract.checks import add
from tests.faults.bank import Bank, account_schema
from tests.faults.stub import StubCatalog


class Elsewhere(CommitFailedException):
    """What another catalog may make of a conflict."""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[InMemoryCatalog]:
    """A catalog in memory that holds the account table."""
    catalog = InMemoryCatalog("memory", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("bank")
    table = catalog.create_table(Bank.identifier, account_schema())
    table.append(pa.table({"id": pa.array([1, 2], pa.int64()), "bal": pa.array([100, 200], pa.int64())}))
    yield catalog
    catalog.engine.dispose()


def deposit(catalog: Catalog, amount: int) -> None:
    """Be the rival, on the one catalog object there is."""
    table = catalog.load_table(Bank.identifier)
    row = pa.table({"id": pa.array([1], pa.int64()), "bal": pa.array([read_balance(table) + amount], pa.int64())})
    table.overwrite(row, EqualTo("id", 1))


def test_a_catalog_in_memory_will_do(memory: InMemoryCatalog) -> None:
    """Its one connection is shared by everybody, so a load must not be held open across the commit."""
    call = add(commit_with_retry, memory, 1, rival=lambda attempt: None if attempt else deposit(memory, 10))

    assert (call.error, call.value) == (None, 111)
    assert read_balance(memory.load_table(Bank.identifier)) == 111


def test_a_catalog_that_only_loads_will_do(bank: Bank) -> None:
    """What commits is the catalog that the table knows; it need not be the one that was passed."""

    class OnlyLoads:
        def load_table(self, identifier: Any) -> Table:
            return inner.load_table(identifier)

    inner = bank.connect()

    call = add(commit_with_retry, OnlyLoads(), 1, rival=lambda attempt: None if attempt else bank.deposit(10))

    assert (call.error, call.value) == (None, 111)
    assert bank.balances()[1] == 111
    assert [table.catalog for table in inner.loaded] == [inner, inner]


def test_a_table_of_a_subclass_will_do(bank: Bank) -> None:
    """Its own `overwrite` is called, as the exercise's tests may want to see."""
    calls: list[tuple[int, Any]] = []

    class Watched(Table):
        def overwrite(self, df: Any, overwrite_filter: Any = None, *args: Any, **kwargs: Any) -> None:
            calls.append((df.num_rows, overwrite_filter))
            super().overwrite(df, overwrite_filter, *args, **kwargs)

    class Watching:
        def load_table(self, identifier: Any) -> Table:
            table = inner.load_table(identifier)
            return Watched(table.name(), table.metadata, table.metadata_location, table.io, table.catalog, table.config)

    inner = bank.connect()

    call = add(commit_with_retry, Watching(), 1, rival=lambda attempt: None if attempt else bank.deposit(10))

    assert (call.error, call.value) == (None, 111)
    assert calls == [(1, EqualTo("id", 1))] * 2


def test_a_catalog_that_hands_out_one_table_object_again_and_again_will_do(bank: Bank) -> None:
    """It refreshes the object on each load: whatever an attempt has put into it must be gone by then."""

    class Caching:
        def load_table(self, identifier: Any) -> Table:
            return table.refresh()

    inner = bank.connect()
    table = inner.load_table(bank.identifier)

    call = add(commit_with_retry, Caching(), 1, rival=lambda attempt: bank.deposit(10) if attempt < 2 else None)

    assert (call.error, call.value) == (None, 121)
    assert call.seen == [100, 110, 120]
    assert bank.balances()[1] == 121
    assert table.catalog is inner


def test_a_stub_without_conflicts_takes_one_attempt() -> None:
    """One load, one write of one row."""
    stub = StubCatalog(100)

    call = add(commit_with_retry, stub, 1)

    assert (call.error, call.value, stub.balance) == (None, 101, 101)
    assert (len(stub.loaded), len(stub.writes)) == (1, 1)
    ((table, rows, overwrite_filter),) = stub.writes
    assert table is stub.loaded[0]
    assert rows.to_pylist() == [{"id": 1, "bal": 101}]
    assert overwrite_filter == EqualTo("id", 1)


@pytest.mark.parametrize("error", [CommitFailedException("lost"), Elsewhere("lost")], ids=["plain", "subclass"])
def test_a_stub_that_loses_is_loaded_again(error: CommitFailedException) -> None:
    """The second attempt sees the winner's balance."""
    stub = StubCatalog(100, error)

    call = add(commit_with_retry, stub, 1)

    assert (call.error, call.value, stub.balance) == (None, 111, 111)
    assert (call.seen, call.attempts) == ([100, 110], [0, 1])
    assert [table for table, _, _ in stub.writes] == stub.loaded


@pytest.mark.parametrize("max_retries", [1, 2, 5])
def test_the_last_conflict_of_a_stub_is_what_propagates(max_retries: int) -> None:
    """The very object; and a stub is not loaded once more, since it has nothing that could be looked up."""
    lost = [CommitFailedException(f"lost {n}") for n in range(max_retries)]
    stub = StubCatalog(100, *lost)

    call = add(commit_with_retry, stub, 1, max_retries=max_retries)

    assert call.error is lost[-1]
    assert stub.balance == 100 + 10 * max_retries
    assert call.seen == [100 + 10 * n for n in range(max_retries)]
    assert (len(stub.loaded), len(stub.writes)) == (max_retries, max_retries)


def test_any_other_error_of_a_stub_propagates_at_once() -> None:
    """Only a conflict is a reason to try again."""
    broken = RuntimeError("broken")
    stub = StubCatalog(100, broken)

    call = add(commit_with_retry, stub, 1)

    assert call.error is broken
    assert (len(stub.loaded), len(stub.writes)) == (1, 1)


def test_a_stub_is_not_given_what_is_no_balance() -> None:
    """The same rules hold as for a real table."""
    stub = StubCatalog(100)

    with pytest.raises(BalanceError):
        commit_with_retry(stub, Bank.identifier, lambda balance: balance / 2)  # type: ignore[arg-type,return-value]

    assert stub.writes == []


def test_read_balance_reads_a_stub() -> None:
    """It asks for nothing but a scan."""
    assert read_balance(StubCatalog(100).load_table(Bank.identifier)) == 100  # type: ignore[arg-type]
