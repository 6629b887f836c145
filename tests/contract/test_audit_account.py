"""What `commit_with_retry` records is enough for the auditor: overlapping calls are clean, a lost update is named."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from seriatim import account
from seriatim.account import commit_with_retry
from seriatim.audit import Invariant, Kind, Status, SumsAsRecorded, UniqueKey, Verdict, audit
from seriatim.commit import Base
from seriatim.commit.reads import decoded
from tests.faults.bank import Bank

INVARIANTS: list[Invariant] = [UniqueKey("id"), SumsAsRecorded("bal")]


def _audit(bank: Bank) -> Verdict:
    return audit(bank.connect(), bank.identifier, INVARIANTS)


def _add(bank: Bank, amount: int, before_commit: Any = None) -> int:
    return commit_with_retry(bank.connect(), bank.identifier, lambda balance: balance + amount, 50, before_commit)


def test_what_a_call_did_stands_in_its_snapshot(bank: Bank) -> None:
    _add(bank, -30)

    snapshot = bank.table().current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    words = snapshot.summary.additional_properties
    (read,) = decoded(words["seriatim.reads-json"]).conditions
    assert str(read) == "EqualTo(term=Reference(name='id'), literal=LongLiteral(1))"
    assert (words["seriatim.rows-added"], words["seriatim.rows-removed"]) == ("1", "1")
    assert words["seriatim.sums"] == '{"bal": -30}'


def test_overlapping_calls_are_judged_and_clean(bank: Bank) -> None:
    """Each of the four reads the same balance at first, so that three of them compute anew."""
    barrier = threading.Barrier(4)

    def meet(attempt: int) -> None:
        if attempt == 0:
            barrier.wait(timeout=60)

    with ThreadPoolExecutor(4) as pool:
        balances = list(pool.map(lambda amount: _add(bank, amount, meet), [1, 20, 300, 0]))

    verdict = _audit(bank)
    assert max(balances) == bank.balances()[1] == 421
    assert (verdict.anomalies, verdict.unjudged, verdict.status) == ((), (), Status.CLEAN)
    assert verdict.snapshots == 5  # The opening, and one for each call.


def test_a_stale_write_by_others_between_two_calls_is_named(bank: Bank) -> None:
    """It took the deposit back; the calls before and after it are not blamed."""
    stale = bank.balances()[1]
    _add(bank, 10)
    bank.change(1, bal=stale)
    _add(bank, 5)

    verdict = _audit(bank)

    assert [anomaly.kind for anomaly in verdict.anomalies] == [Kind.FOREIGN_WRITE]
    assert verdict.anomalies[0].rows == ("went: id=1, bal=110", "came: id=1, bal=100")
    assert verdict.unjudged == ()


def test_a_call_that_reads_an_old_balance_is_found_to_lose_an_update(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted in what it reads from: the call reads 100, lands on the snapshot that has 110, and leaves 101."""
    old = bank.head()
    _add(bank, 10)

    def old_base(name: str, snapshot_id: int | None, *rest: Any) -> Base:
        return Base(name, old, *rest)

    with monkeypatch.context() as planted:
        planted.setattr(account, "Base", old_base)
        _add(bank, 1)

    verdict = _audit(bank)

    assert bank.balances()[1] == 101
    assert [anomaly.kind for anomaly in verdict.anomalies] == [Kind.LOST_UPDATE]
    assert verdict.anomalies[0].rows == ("id=1: bal was 100, then 110, and was overwritten with 101",)
