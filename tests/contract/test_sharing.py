"""One Catalog object in many threads; a table object in one attempt."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from seriatim.commit import Base, Change, Receipt, RetryPolicy, Rewrite, apply, pinned
from solution import commit_with_retry
from tests.faults.bank import Bank
from tests.faults.clock import ManualClock
from tests.faults.deeds import rows
from tests.faults.rest_server import Backing, RestServer

THREADS = 4
EACH = 1  # deposits of each thread; all meet at the first


class Spy:
    """Notes every table object that a catalog hands out, and every one that is committed through, in order."""

    def __init__(self, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loaded: list[Table] = []
        self.committed: list[tuple[Table, int]] = []  # with the thread
        load, commit = catalog.load_table, catalog.commit_table

        def load_table(identifier: Any) -> Table:
            table = load(identifier)
            self.loaded.append(table)
            return table

        def commit_table(table: Table, requirements: Any, updates: Any) -> Any:
            self.committed.append((table, threading.get_ident()))
            return commit(table, requirements, updates)

        monkeypatch.setattr(catalog, "load_table", load_table)
        monkeypatch.setattr(catalog, "commit_table", commit_table)


@pytest.fixture(params=["sql", "rest"])
def shared(bank: Bank, request: pytest.FixtureRequest) -> Iterator[Catalog]:
    """The one catalog object: SQL, or over HTTP."""
    if request.param == "sql":
        yield bank.connect()
        return
    backing = Backing("bank", **bank.properties())
    with RestServer(backing) as server:
        yield server.connect()
    backing.engine.dispose()


Deposit = Callable[[Catalog, int, Callable[[], None]], None]


def _by_apply(catalog: Catalog, amount: int, meanwhile: Callable[[], None]) -> None:
    def change(base: Base) -> Change:
        (balance,) = base.read(where="id == 1")["bal"].to_pylist()
        meanwhile()
        return Rewrite(rows(base.schema, {1: balance + amount}), keys="id")

    receipt = apply(catalog, Bank.identifier, change, operation_ids=[f"deposit {amount}"], **_settings())
    assert not receipt.is_noop


def _by_pinned(catalog: Catalog, amount: int, meanwhile: Callable[[], None]) -> None:
    def fn(table: Table) -> None:
        (balance,) = table.scan(row_filter="id == 1").to_arrow()["bal"].to_pylist()
        meanwhile()
        table.overwrite(rows(table.schema(), {1: balance + amount}), "id == 1")

    receipt = pinned(catalog, Bank.identifier, fn, operation_ids=[f"deposit {amount}"], **_settings())
    assert isinstance(receipt, Receipt)


def _by_account_function(catalog: Catalog, amount: int, meanwhile: Callable[[], None]) -> None:
    commit_with_retry(catalog, Bank.identifier, lambda balance: balance + amount, 1_000, lambda attempt: meanwhile())


WAYS: dict[str, tuple[Deposit, ...]] = {
    "apply": (_by_apply,),
    "pinned": (_by_pinned,),
    "commit_with_retry": (_by_account_function,),
    "all three": (_by_apply, _by_pinned, _by_account_function),
}


@pytest.mark.parametrize("ways", WAYS)
def test_threads_that_share_a_catalog_object_lose_no_deposit(
    bank: Bank, shared: Catalog, monkeypatch: pytest.MonkeyPatch, ways: str
) -> None:
    """All have read before any of them writes; the amounts tell which deposit is missing, and which is there twice."""
    spy = Spy(shared, monkeypatch)
    barrier = threading.Barrier(THREADS, timeout=60)
    amounts = [[2 ** (thread * EACH + n) for n in range(EACH)] for thread in range(THREADS)]

    def deposit(thread: int) -> None:
        way = WAYS[ways][thread % len(WAYS[ways])]
        for n, amount in enumerate(amounts[thread]):
            way(shared, amount, _once(barrier.wait) if n == 0 else _nothing)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(deposit, range(THREADS)))

    assert bank.balances() == {1: 100 + 2 ** (THREADS * EACH) - 1, 2: 200, 3: 300}
    assert len(bank.rows()) == 3
    assert bank.inventory().missing == []
    assert bank.inventory().unreachable == []
    assert_not_shared(spy, conflicts_min=THREADS - 1)


def assert_not_shared(spy: Spy, *, conflicts_min: int) -> None:
    """Each load made a table object of its own, each attempt committed through another one, in one thread."""
    assert len({id(table) for table in spy.loaded}) == len(spy.loaded)  # All are alive, so that no id is used again.
    handles = [id(table) for table, _ in spy.committed]
    assert len(set(handles)) == len(handles)
    assert set(handles) <= {id(table) for table in spy.loaded}
    assert len(handles) >= THREADS * EACH + conflicts_min
    assert len({thread for _, thread in spy.committed}) == THREADS
    for table in spy.loaded:  # What was put into a handle for an attempt has been taken out again.
        assert type(table.catalog).__module__.split(".")[0] in ("pyiceberg", "tests")
        assert type(table.io).__module__.split(".")[0] == "pyiceberg"


def test_a_table_object_that_somebody_else_holds_is_left_alone(bank: Bank, shared: Catalog) -> None:
    """A call loads its own: the one that was loaded before still shows what it showed."""
    mine = shared.load_table(bank.identifier)
    before = (mine.metadata, mine.catalog, mine.io)

    for amount, deposit in ((1, _by_apply), (2, _by_pinned), (4, _by_account_function)):
        deposit(shared, amount, _nothing)

    assert (mine.metadata, mine.catalog, mine.io) == before
    assert mine.scan().to_arrow()["bal"].to_pylist() == [100, 200, 300]
    assert bank.balances()[1] == 100 + 1 + 2 + 4


def _settings() -> dict[str, Any]:
    return {
        "clock": ManualClock(),
        "chance": random.Random(1),
        "policy": RetryPolicy(attempts_max=1_000, total_s_max=1e9, wait_s_first=0.0),
    }


def _nothing() -> None:
    """Let nothing happen."""


def _once(happening: Callable[[], object]) -> Callable[[], None]:
    left = [happening]

    def happen() -> None:
        if left:
            left.pop()()

    return happen
