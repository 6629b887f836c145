"""The bank that is made up from a seed."""

from __future__ import annotations

import hashlib
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from assets.kinds import KINDS, kind_named
from assets.posting import post
from assets.transactions import Transactions, read_transactions
from pipelines.generated_bank import generate_bank, write_bank
from tests.oracle.days import batch_of

FIRST_DAY = date(2026, 1, 1)


def made(folder: Path, *, seed: int = 1) -> Transactions:
    write_bank(folder / "bank.parquet", generate_bank(seed, FIRST_DAY))
    return read_transactions(folder / "bank.parquet")


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    """The digest is pinned: another Python must make the same bank, else a printed seed replays nothing."""
    for name in ("a.csv", "b.csv"):
        write_bank(tmp_path / name, generate_bank(7, FIRST_DAY))
    for name in ("a.parquet", "b.parquet"):
        write_bank(tmp_path / name, generate_bank(7, FIRST_DAY))

    assert (
        hashlib.sha256((tmp_path / "a.csv").read_bytes()).hexdigest()
        == "4dd89535da94d4db6b2de433c568e7aab890fa360905bc309a6a63bc385b68c9"
    )
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_another_seed_gives_another_bank() -> None:
    """Chance does come from the seed."""
    assert generate_bank(1, FIRST_DAY) != generate_bank(2, FIRST_DAY)


def test_it_has_the_size_that_was_asked_for(tmp_path: Path) -> None:
    """120 accounts, 59 days, 3,000 transactions, unique ids in order of day."""
    transactions = made(tmp_path)

    assert len(transactions.table) == 3_000
    assert transactions.table["trans_id"].to_pylist() == list(range(1, 3_001))
    assert transactions.account_ids() == tuple(range(1, 121))
    assert transactions.days() == tuple(FIRST_DAY + timedelta(days=offset) for offset in range(59))
    assert transactions.table["date"].to_pylist() == sorted(transactions.table["date"].to_pylist())


def test_both_formats_hold_the_same_bank(tmp_path: Path) -> None:
    """CSV loses nothing."""
    table = generate_bank(3, FIRST_DAY)
    for name in ("bank.csv", "bank.parquet"):
        write_bank(tmp_path / name, table)

    assert read_transactions(tmp_path / "bank.csv").table == read_transactions(tmp_path / "bank.parquet").table
    assert (tmp_path / "bank.csv").read_text(encoding="utf-8").startswith("trans_id,account_id,date,kind,amount\n1,")


@pytest.mark.parametrize(
    ("seed", "days", "accounts", "transactions"), [(1, 59, 120, 3_000), (2, 1, 1, 15), (3, 31, 5, 60), (4, 400, 3, 200)]
)
def test_every_kind_occurs(seed: int, days: int, accounts: int, transactions: int) -> None:
    """However small the bank: a job without transactions would test nothing."""
    table = generate_bank(seed, FIRST_DAY, days=days, accounts=accounts, transactions=transactions)

    assert len(table) == transactions
    assert set(table["kind"].to_pylist()) == {kind.name for kind in KINDS}


def test_every_account_opens_with_a_deposit_in_the_first_days(tmp_path: Path) -> None:
    """Otherwise interest and fees would meet empty accounts."""
    transactions = made(tmp_path)
    openings = batch_of(transactions, kind_named("cash_deposit"), transactions.days()[:3])

    assert openings.account_ids() == transactions.account_ids()


def test_interest_and_fee_come_at_each_months_end(tmp_path: Path) -> None:
    """Once per account and month; the last day of the bank counts as a month's end."""
    transactions = made(tmp_path)

    for name in ("percentage_interest", "balance_fee"):
        batch = transactions.of(kind_named(name))
        assert Counter(each.day for each in batch.transactions) == {date(2026, 1, 31): 120, date(2026, 2, 28): 120}


def test_some_standing_orders_are_refused_and_most_are_not(tmp_path: Path) -> None:
    """Both branches of the rule must be taken when the days run in their order."""
    transactions = made(tmp_path)
    balances = dict.fromkeys(transactions.account_ids(), 0)
    refused = 0
    for day in transactions.days():
        for kind in KINDS:
            posting = post(balances, batch_of(transactions, kind, [day]))
            balances.update(posting.balances_minor)
            refused += len(posting.refused)

    orders = len(transactions.of(kind_named("standing_order")).transactions)
    assert 0 < refused < orders / 2


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_operations_matters(tmp_path: Path, seed: int) -> None:
    """On a bank where it did not, a lost or reordered update could hide: most accounts must tell."""
    transactions = made(tmp_path, seed=seed)
    forwards, backwards = (dict.fromkeys(transactions.account_ids(), 0) for _ in range(2))
    for balances, kinds in ((forwards, KINDS), (backwards, KINDS[::-1])):
        for kind in kinds:
            balances.update(post(balances, transactions.of(kind)).balances_minor)

    differing = [account_id for account_id in forwards if forwards[account_id] != backwards[account_id]]
    assert len(differing) > 60


def test_two_neighbouring_jobs_of_one_day_do_not_commute(tmp_path: Path) -> None:
    """The smallest order error there is, fee and interest of one day swapped, changes a balance by a cent or more."""
    transactions = made(tmp_path)
    interest, fee = (
        batch_of(transactions, kind_named(name), [date(2026, 1, 31)]) for name in ("percentage_interest", "balance_fee")
    )
    interest_first, fee_first = (dict.fromkeys(transactions.account_ids(), 1_234_567) for _ in range(2))
    for balances, batches in ((interest_first, (interest, fee)), (fee_first, (fee, interest))):
        for batch in batches:
            balances.update(post(balances, batch).balances_minor)

    assert interest_first != fee_first


@pytest.mark.parametrize("arguments", [{"days": 0}, {"accounts": 0}, {"transactions": 600}])
def test_a_bank_without_room_is_refused(arguments: dict[str, int]) -> None:
    """Rather than a bank that lacks what the others rely on."""
    with pytest.raises(ValueError, match=str(next(iter(arguments.values())))):
        generate_bank(1, FIRST_DAY, **arguments)


def test_writing_replaces_the_file_in_one_step(tmp_path: Path) -> None:
    """A failure leaves the old file as it was, and nothing beside it."""
    path = tmp_path / "bank.csv"
    write_bank(path, generate_bank(1, FIRST_DAY))
    before = path.read_bytes()
    unequal = pa.table({"amount": pa.array([10**9], pa.int32()).cast(pa.date32())})  # No Python date: fails midway.

    with pytest.raises((ValueError, OverflowError)):
        write_bank(path, unequal)

    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["bank.csv"]


def test_writing_to_another_format_is_refused(tmp_path: Path) -> None:
    """What could not be read back is not written."""
    with pytest.raises(ValueError, match=r"bank\.json"):
        write_bank(tmp_path / "bank.json", generate_bank(1, FIRST_DAY))
    assert list(tmp_path.iterdir()) == []


def test_amounts_are_decimals_with_the_sign_of_their_kind() -> None:
    """Debits are negative, credits positive, and none is 0."""
    table = generate_bank(5, FIRST_DAY)
    credited = {"cash_deposit", "pension", "transfer_in", "interest", "percentage_interest"}

    assert table.schema.field("amount").type == pa.decimal128(12, 2)
    for kind in KINDS:
        amounts = table.filter(pc.equal(table["kind"], kind.name))["amount"].to_pylist()
        assert all((amount > Decimal(0)) == (kind.name in credited) and amount for amount in amounts)
