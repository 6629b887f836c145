"""Partitions are applied in any order, each once, and none is ever forgotten."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pytest

from seriatim.commit import Append, Base, Receipt
from seriatim.commit.ledger_policy import LedgerPolicy
from seriatim.commit.partitions import Partitions, PartitionSet, operation_id, partition_of
from seriatim.errors import InvalidChangeError
from tests.contract.apply_support import Deposit, call
from tests.contract.ledger_support import expire_unreferenced, head, note, words
from tests.faults.bank import Bank
from tests.faults.clock import ManualClock

DAYS = [str(date(1993, 1, 1) + timedelta(days=number)) for number in range(3_650)]
ODD_KEYS = ["eu", "a|b", "a%7Cb", "007", "", "1993-02-30", "-5", "١٢"]


def _post(bank: Bank, *keys: str, asset: str = "bank/deposit", **options: Any) -> Receipt:
    return call(bank, Deposit(1), partitions=Partitions(asset, keys), **options)


def test_each_partition_is_applied_once_in_whatever_order(bank: Bank) -> None:
    """What is left of a range is told to the change, as operation ids and as keys."""
    partitions = Partitions("bank/deposit", ["1993-01-03", "1993-01-01", "1993-01-02"])
    seen: list[tuple[str, ...]] = []

    def append(base: Base) -> Append:
        seen.append(partitions.left(base.pending))
        return Append(pa.Table.from_pylist([{"id": 9, "bal": 9}], schema=base.schema.as_arrow()))

    first = _post(bank, "1993-01-02")
    receipt = call(bank, append, partitions=partitions)
    again = call(bank, append, partitions=partitions)

    assert seen == [("1993-01-03", "1993-01-01")]
    assert receipt.already_applied == {"bank/deposit|1993-01-02": first.snapshot_ids[-1]}
    assert again.is_noop
    assert set(again.already_applied) == set(partitions.operation_ids)


def test_no_partition_is_forgotten_by_fold_window_or_expiry(bank: Bank) -> None:
    """Ids leave the ledger with the window, partitions do not; which snapshot applied them is no longer known."""
    clock = ManualClock()
    policy = LedgerPolicy(window_s=10, recent_max=1)
    days = DAYS[:6]
    random.Random(2).shuffle(days)
    for day in days:
        _post(bank, day, "eu", clock=clock, ledger=policy)
        note(bank, f"id of {day}", clock=clock, ledger=policy)
        clock.seconds += 100
    expire_unreferenced(bank)

    receipt = _post(bank, *DAYS[:6], "eu", clock=clock, ledger=policy)

    assert receipt.is_noop
    assert receipt.already_applied["bank/deposit|eu"] is None
    assert bank.balances()[1] == 106
    assert not note(bank, f"id of {days[0]}", clock=clock).is_noop


def test_a_partition_is_known_by_its_operation_id_and_the_other_way_round(bank: Bank) -> None:
    """A job that named its partitions by operation ids may begin to say `partitions`, and back."""
    call(bank, Deposit(1), "bank/deposit|1993-01-01")
    _post(bank, "1993-01-02")
    policy = LedgerPolicy(recent_max=0)

    for _ in range(2):  # First from the summaries, then from the file.
        assert _post(bank, "1993-01-01").is_noop
        assert call(bank, Deposit(1), "bank/deposit|1993-01-02").is_noop
        note(bank, f"fold {bank.head()}", ledger=policy)
        note(bank, f"fold {bank.head()}", ledger=policy)

    assert bank.balances()[1] == 102


def test_assets_do_not_share_partitions(bank: Bank) -> None:
    """Nor do forced ids hit a partition."""
    _post(bank, "1993-01-01", asset="a")
    note(bank, "fold", ledger=LedgerPolicy(recent_max=0))

    assert not _post(bank, "1993-01-01", asset="b").is_noop
    assert not call(bank, Deposit(1), "a|1993-01-01|run=4").is_noop
    assert _post(bank, "1993-01-01", asset="a").is_noop


def test_the_summary_names_partitions_and_their_ids(bank: Bank) -> None:
    """Whoever reads operation ids alone, an auditor or the loser of a conflict, sees them all."""
    _post(bank, "1993-01-02", "1993-01-01")

    assert words(head(bank))["seriatim.operation-ids"] == '["bank/deposit|1993-01-02", "bank/deposit|1993-01-01"]'
    assert words(head(bank))["seriatim.partitions"] == '{"bank/deposit":["1993-01-02","1993-01-01"]}'


@pytest.mark.parametrize(
    "keys",
    [
        DAYS,
        [f"{day}-{hour:02}:00" for day in DAYS[:300] for hour in range(24)],
        [f"{day}|{place}" for day in DAYS for place in ("eu", "us")],
        [str(number) for number in range(5_000)],
    ],
    ids=["days", "hours", "days by place", "numbers"],
)
def test_dense_partitions_in_random_order_end_as_few_intervals(keys: list[str]) -> None:
    """Ten years of days are one interval; hours are one for each hour of the day."""
    shuffled = list(keys)
    random.Random(3).shuffle(shuffled)

    some = PartitionSet()
    for start in range(0, len(shuffled), 500):
        some = some.with_keys({"asset": shuffled[start : start + 500]})

    assert sum(len(one.pairs) for one in some.runs.values()) <= 24
    assert all(some.has("asset", key) for key in keys)
    assert not any(some.has("asset", key) for key in ("1992-12-31", "2003-01-01", "5000", "1993-01-01|asia", "x"))
    assert PartitionSet.of_json(some.to_json()) == some


def test_a_set_holds_exactly_what_was_put_in() -> None:
    """Keys that only look like dates or numbers are kept as they are."""
    some = PartitionSet().with_keys({"asset": ODD_KEYS[::2]})

    assert [key for key in ODD_KEYS if some.has("asset", key)] == ODD_KEYS[::2]
    assert not some.has("other", "eu")


def test_no_two_partitions_have_the_same_operation_id() -> None:
    """And each can be read back."""
    pairs = [(asset, key) for asset in ODD_KEYS for key in ODD_KEYS]

    assert len({operation_id(*pair) for pair in pairs}) == len(pairs)
    assert all(partition_of(operation_id(*pair)) == pair for pair in pairs)
    assert partition_of("no bar") is None
    assert partition_of("a|1993-01-01|run=4") is None


@pytest.mark.parametrize(("asset", "keys"), [("", ["a"]), ("a", [""]), ("a", "1993-01-01"), ("a", [1])])
def test_a_partition_has_a_name(asset: str, keys: Any) -> None:
    """An empty one could not be told from another."""
    with pytest.raises(InvalidChangeError):
        Partitions(asset, keys)


def test_a_partition_is_named_once(bank: Bank) -> None:
    """Neither twice, nor as an operation id besides."""
    with pytest.raises(InvalidChangeError, match="twice"):
        _post(bank, "a", "a")
    with pytest.raises(InvalidChangeError, match="twice"):
        call(bank, Deposit(1), "asset|a", partitions=Partitions("asset", ["a"]))
