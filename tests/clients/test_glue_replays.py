"""boto3 sends an update of Glue again whose answer was lost: it is applied once, or the error is true.

What boto3 then hears of the second request is a conflict, and PyIceberg says that the commit has failed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from moto.server import ThreadedMotoServer

from seriatim.commit import RetryPolicy
from tests.clients.glue import Aws, GlueBank, compare_versions, is_update
from tests.clients.passages import (
    DEEDS_AND_SLOW_ONES,
    FEW_DEEDS,
    PASSAGES,
    by_chance,
    check_applied_once,
    check_is_known,
    check_truth_is_told,
)
from tests.clients.replaying_proxy import Passage, ReplayingProxy, Sent
from tests.contract.apply_support import Deposit, call
from tests.faults.deeds import DEEDS


@pytest.fixture(scope="module")
def aws_of_all() -> Iterator[Aws]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield Aws(server)
    server.stop()


@pytest.fixture
def aws(aws_of_all: Aws, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    compare_versions(monkeypatch)
    yield aws_of_all
    aws_of_all.forget()


@pytest.fixture
def bank(tmp_path: Path, aws: Aws) -> GlueBank:
    bank = GlueBank(tmp_path, aws)
    bank.create()
    return bank


@pytest.fixture
def proxy(aws: Aws) -> Iterator[ReplayingProxy]:
    with ReplayingProxy(aws.uri, is_update) as proxy:
        yield proxy


def test_the_double_refuses_an_old_version(bank: GlueBank) -> None:
    """As AWS does; moto alone would take it, and lose an update in silence."""
    glue, update = bank.client().glue, update_of(bank)

    glue.update_table(**update)
    with pytest.raises(glue.exceptions.ConcurrentModificationException):
        glue.update_table(**update)


def test_boto3_sends_again_what_was_not_answered_and_hears_a_conflict(bank: GlueBank, proxy: ReplayingProxy) -> None:
    """The reason for these tests: the conflict is one of the update with itself."""
    glue, update = bank.client(through=proxy.uri).glue, update_of(bank)
    proxy.script(PASSAGES["once, nothing heard"])

    with pytest.raises(glue.exceptions.ConcurrentModificationException):
        glue.update_table(**update)

    assert proxy.requests == 2
    assert proxy.statuses == [200, 400]


def update_of(bank: GlueBank) -> dict[str, Any]:
    """Return an update of the table's newest version that changes nothing."""
    table = bank.client().glue.get_table(DatabaseName="bank", Name="account")["Table"]
    same = {"Name": "account", "Parameters": table["Parameters"]}
    return {"DatabaseName": "bank", "TableInput": same, "VersionId": table["VersionId"]}


# boto3 waits up to a second before it sends a request again, so that the default tests have few of these.
QUICK = ("twice, second heard", "once, nothing heard", "once, heard 500", "rival between, second heard")
AGAIN = [
    *QUICK,
    *(pytest.param(name, marks=pytest.mark.exhaustive) for name in PASSAGES if name not in QUICK),
]


@pytest.mark.parametrize("passage", AGAIN)
@pytest.mark.parametrize("deed", DEEDS_AND_SLOW_ONES)
def test_a_replayed_update_is_applied_once(bank: GlueBank, proxy: ReplayingProxy, deed: str, passage: str) -> None:
    check_applied_once(bank, bank.client(through=proxy.uri), proxy, deed, passage)


@pytest.mark.parametrize("passage", AGAIN)
@pytest.mark.parametrize(
    "deed", ["upsert", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in FEW_DEEDS[1:])]
)
def test_the_only_attempt_that_is_replayed_ends_in_the_truth(
    bank: GlueBank, proxy: ReplayingProxy, deed: str, passage: str
) -> None:
    """boto3's own second request makes up for one that was lost; a rival's commit is the only conflict."""
    is_lost = passage.startswith("rival before")

    assert check_truth_is_told(bank, bank.client(through=proxy.uri), proxy, deed, passage) == (
        "ConflictError" if is_lost else "NoneType"
    )


def test_boto3_that_gives_up_on_a_landed_update_is_no_second_update(bank: GlueBank, proxy: ReplayingProxy) -> None:
    """Every answer is lost, to the last retry of boto3's; the table tells that the first request has landed."""
    proxy.habit = lambda: PASSAGES["once, nothing heard"]
    client = bank.client(through=proxy.uri, **{"glue.max-retries": 1})

    receipt = call(bank, Deposit(7), "given up", catalog=client)

    assert proxy.statuses == [200, 400]
    assert receipt.attempts == 1
    assert bank.balances() == {1: 107, 2: 200, 3: 300}
    assert bank.inventory().missing == []


@pytest.mark.parametrize("heard", [0, 1])
@pytest.mark.parametrize("deed", FEW_DEEDS)
def test_a_true_race_through_glue_loses_no_update(bank: GlueBank, proxy: ReplayingProxy, deed: str, heard: int) -> None:
    """Two writers have read the table before either of them writes, and every request is sent twice."""
    proxy.habit = lambda: Passage((Sent.AT_ONCE, Sent.AT_ONCE), heard)
    together = threading.Barrier(2, timeout=60)

    def write(name: str) -> None:
        met: list[int] = []

        def meet() -> None:
            if not met:
                met.append(together.wait())

        ids = (name,) if DEEDS[deed].has_operation_ids else ()
        DEEDS[deed].run(bank.client(through=proxy.uri), ids, 5, meet)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, ["one", "two"]))

    assert proxy.statuses.count(200) == 2
    assert bank.balances()[1] == 100 + 7 + 7
    assert bank.inventory().missing == []


def test_two_updates_of_one_version_meet_at_glue_itself(bank: GlueBank, proxy: ReplayingProxy) -> None:
    """Both have passed PyIceberg's own checks when the first of them arrives: the version alone decides."""
    together = threading.Barrier(2, timeout=60)
    first = Passage((Sent.AFTER_MEANWHILE,), heard=0, meanwhile=together.wait)
    proxy.script(first, first)

    def write(name: str) -> int:
        return call(bank, Deposit(7), name, catalog=bank.client(through=proxy.uri)).attempts

    with ThreadPoolExecutor(2) as pool:
        attempts = sorted(pool.map(write, ["one", "two"]))

    assert sorted(proxy.statuses[:2]) == [200, 400]
    assert attempts == [1, 2]
    assert bank.balances() == {1: 114, 2: 200, 3: 300}
    assert bank.inventory().missing == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [1, 2])
def test_writers_in_a_storm_of_replays_lose_nothing_and_repeat_nothing(
    bank: GlueBank, proxy: ReplayingProxy, seed: int
) -> None:
    """Every request passes in a way that chance chooses."""
    proxy.habit = by_chance(seed)
    names = [f"{writer}-{number}" for writer in range(3) for number in range(3)]

    def write(name: str) -> None:
        client = bank.client(through=proxy.uri)
        call(bank, Deposit(7), name, catalog=client, policy=RetryPolicy(attempts_max=100))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, names))
    proxy.deliver()

    assert bank.balances() == {1: 100 + 7 * len(names), 2: 200, 3: 300}
    assert bank.inventory().missing == []
    check_is_known(bank, bank.client(), tuple(names))


def test_a_warehouse_in_s3_is_none_the_worse(tmp_path: Path, aws: Aws, proxy: ReplayingProxy) -> None:
    """The answer to an update is lost, a rival commits, and every snapshot can be read to the last file."""
    bank = GlueBank(tmp_path, aws, aws.bucket())
    bank.create()
    proxy.script(Passage((Sent.AT_ONCE,), heard=None, meanwhile=lambda: bank.deposit(10)))
    client = bank.client(through=proxy.uri)

    receipt = call(bank, Deposit(7), "in S3", catalog=client)
    call(bank, Deposit(1), "afterwards", catalog=client)

    table = bank.table()
    totals = [sum(table.scan(snapshot_id=one.snapshot_id).to_arrow()["bal"].to_pylist()) for one in table.snapshots()]
    assert receipt.attempts == 1
    assert bank.balances() == {1: 118, 2: 200, 3: 300}
    assert {600, 607, 617, 618} <= set(totals)
    check_is_known(bank, client, ("in S3", "afterwards"))
