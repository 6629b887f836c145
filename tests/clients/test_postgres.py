"""The SQL catalog on PostgreSQL: what it answers to those who lose is its own, and what becomes of them the same."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

if sys.platform == "win32":
    pytest.skip("the server is started as on Unix", allow_module_level=True)

from seriatim import RetryPolicy, apply, commit_with_retry
from seriatim.commit import Append
from seriatim.dagster import IcebergCatalog, ensure_table
from tests.clients import postgres
from tests.dagster_api.accounts import SCHEMA, TABLE, add, balances, rows

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(postgres.missing() is not None, reason=postgres.missing() or ""),
]
WRITERS = 6
PATIENT = RetryPolicy(attempts_max=100, total_s_max=300.0)
T = TypeVar("T")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with postgres.server() as address:
        yield address


@pytest.fixture
def resource(address: str, tmp_path: Path) -> IcebergCatalog:
    """A catalog of a name, and so with tables, of its own in the one database."""
    return IcebergCatalog(name=tmp_path.name, uri=address, warehouse=f"file://{tmp_path}/warehouse")


def at_once(what: Callable[[int], T]) -> list[T]:
    """Do it in threads that begin together."""
    barrier = threading.Barrier(WRITERS, timeout=60)

    def begin(number: int) -> T:
        barrier.wait()
        return what(number)

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(begin, range(WRITERS)))


def test_everything_may_be_created_at_once(resource: IcebergCatalog) -> None:
    """The catalog's own tables, the namespace and the table, in a database that has nothing."""
    at_once(lambda _: resource.ensure_table(TABLE, SCHEMA).metadata_location)

    assert [*resource.load().list_tables("bank")] == [("bank", "account")]
    assert balances(resource) == {}


def test_writers_that_read_the_same_lose_no_update(resource: IcebergCatalog) -> None:
    """All of them have read before one commits, so that all but one lose; the amounts tell them apart."""
    resource.ensure_table(TABLE, SCHEMA).append(rows({1: 0}))
    barrier = threading.Barrier(WRITERS, timeout=60)
    first = [True] * WRITERS

    def deposit(number: int) -> int:
        def meet() -> None:
            if first[number]:
                first[number] = False
                barrier.wait()

        receipt = apply(
            resource.load(), TABLE, add(2**number, after_read=meet), operation_ids=[f"{number}"], policy=PATIENT
        )
        return receipt.attempts

    attempts = at_once(deposit)

    assert balances(resource) == {1: 2**WRITERS - 1}
    assert min(attempts) == 1
    assert sum(attempts) >= 2 * WRITERS - 1


def test_the_account_function_does_the_same(resource: IcebergCatalog) -> None:
    resource.ensure_table(TABLE, SCHEMA).append(rows({1: 0}))

    at_once(lambda number: commit_with_retry(resource.load(), TABLE, lambda balance: balance + 2**number, 100))

    assert balances(resource) == {1: 2**WRITERS - 1}


def test_an_operation_that_is_done_twice_at_once_is_done_once(resource: IcebergCatalog) -> None:
    ensure_table(resource.load(), ("bank", "account"), SCHEMA)

    receipts = at_once(
        lambda _: apply(resource.load(), TABLE, lambda base: Append(rows({7: 7})), operation_ids=["it"], policy=PATIENT)
    )

    assert balances(resource) == {7: 7}
    assert sorted(receipt.is_noop for receipt in receipts) == [False] + [True] * (WRITERS - 1)
