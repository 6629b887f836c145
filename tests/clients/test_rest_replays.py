"""PyIceberg's RestCatalog through a proxy that sends its commits again: each is applied once, or the error is true."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyiceberg.catalog.rest import RestCatalog

from seriatim.commit import RetryPolicy
from tests.clients.passages import (
    DEEDS_AND_SLOW_ONES,
    FEW_DEEDS,
    PASSAGES,
    by_chance,
    check_applied_once,
    check_is_known,
    check_truth_is_told,
)
from tests.clients.replaying_proxy import Passage, ReplayingProxy
from tests.contract.apply_support import Deposit, call
from tests.faults.bank import Bank
from tests.faults.deeds import DEEDS
from tests.faults.rest_server import Backing, RestServer, session_of

TWICE = PASSAGES["twice, second heard"]


def is_commit(method: str, path: str, headers: Mapping[str, str]) -> bool:
    """Whether a request commits to a table."""
    return method == "POST" and "/tables/" in path


@pytest.fixture
def proxy(bank: Bank) -> Iterator[ReplayingProxy]:
    """A proxy before a server on the bank's own database."""
    backing = Backing("bank", **bank.properties())
    with RestServer(backing) as server, ReplayingProxy(server.uri, is_commit) as proxy:
        yield proxy
    backing.engine.dispose()


@pytest.fixture
def client(proxy: ReplayingProxy) -> Iterator[RestCatalog]:
    """A client of the proxy."""
    client = connect(proxy)
    yield client
    session_of(client).close()


def connect(proxy: ReplayingProxy) -> RestCatalog:
    return RestCatalog("rest", uri=proxy.uri)


def test_the_server_takes_the_first_copy_and_refuses_the_second(
    bank: Bank, proxy: ReplayingProxy, client: RestCatalog
) -> None:
    """The proxy does what it says; otherwise nothing below shows anything."""
    proxy.script(TWICE)

    receipt = call(bank, Deposit(7), "once", catalog=client)

    assert proxy.statuses == [200, 409]
    assert proxy.requests == receipt.attempts == 1
    assert bank.balances()[1] == 107


@pytest.mark.parametrize("passage", PASSAGES)
@pytest.mark.parametrize("deed", DEEDS_AND_SLOW_ONES)
def test_a_replayed_commit_is_applied_once(
    bank: Bank, proxy: ReplayingProxy, client: RestCatalog, deed: str, passage: str
) -> None:
    check_applied_once(bank, client, proxy, deed, passage)


# What the call says when there is no second attempt.
SAID = {
    "lost, nothing heard": "OutcomeUnknownError",
    "rival before both, second heard": "ConflictError",
    "rival before both, nothing heard": "ConflictError",
    "late, before the next": "OutcomeUnknownError",
    "late, after the next": "OutcomeUnknownError",
    "late, when all is over": "OutcomeUnknownError",
}


@pytest.mark.parametrize("passage", PASSAGES)
@pytest.mark.parametrize(
    "deed", ["upsert", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in FEW_DEEDS[1:])]
)
def test_the_only_attempt_that_is_replayed_ends_in_the_truth(
    bank: Bank, proxy: ReplayingProxy, client: RestCatalog, deed: str, passage: str
) -> None:
    assert check_truth_is_told(bank, client, proxy, deed, passage) == SAID.get(passage, "NoneType")


@pytest.mark.parametrize("heard", [0, 1, None])
@pytest.mark.parametrize("deed", FEW_DEEDS)
def test_two_writers_whose_requests_are_all_sent_twice_are_put_in_an_order(
    bank: Bank, proxy: ReplayingProxy, deed: str, heard: int | None
) -> None:
    """Both have read the table before either of them writes."""
    proxy.habit = lambda: Passage(TWICE.copies, heard)
    together = threading.Barrier(2, timeout=60)

    def write(name: str) -> None:
        met: list[int] = []

        def meet() -> None:
            if not met:
                met.append(together.wait())

        client = connect(proxy)
        ids = (name,) if DEEDS[deed].has_operation_ids else ()
        DEEDS[deed].run(client, ids, 5, meet)
        session_of(client).close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, ["one", "two"]))

    assert proxy.statuses.count(200) == 2
    assert proxy.requests >= 3  # Two that landed, and one at least that lost.
    assert bank.balances()[1] == 100 + 7 + 7
    assert bank.inventory().missing == []


@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.exhaustive), pytest.param(3, marks=pytest.mark.exhaustive)]
)
def test_writers_in_a_storm_of_replays_lose_nothing_and_repeat_nothing(
    bank: Bank, proxy: ReplayingProxy, seed: int
) -> None:
    """Every request passes in a way that chance chooses; whoever is told that it is not known looks by its name."""
    proxy.habit = by_chance(seed)
    names = [f"{writer}-{number}" for writer in range(3) for number in range(4)]

    def write(name: str) -> int:
        client = connect(proxy)
        receipt = call(bank, Deposit(7), name, catalog=client, policy=RetryPolicy(attempts_max=100))
        session_of(client).close()
        return receipt.attempts

    with ThreadPoolExecutor(3) as pool:
        attempts = list(pool.map(write, names))
    proxy.habit = lambda: PASSAGES["twice, first heard"]
    proxy.deliver()

    print(f"seed {seed}: {sum(attempts)} attempts, answers {Counter(proxy.statuses)}")
    assert bank.balances() == {1: 100 + 7 * len(names), 2: 200, 3: 300}
    assert proxy.statuses.count(200) == len(names)
    assert bank.inventory().missing == []
    check_is_known(bank, connect(proxy), tuple(names))
