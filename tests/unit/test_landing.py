"""The upstream job: what it lands in the Delta table, and in which appends."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from assets.transactions import Transactions, check_transactions, read_transactions
from pipelines.generated_bank import generate_bank, write_bank
from pipelines.landing import arrivals, land

FIRST_DAY = date(1993, 1, 1)


def made(folder: Path, days: int) -> Transactions:
    write_bank(folder / "bank.csv", generate_bank(5, FIRST_DAY, days=days, accounts=20, transactions=900))
    return read_transactions(folder / "bank.csv")


def day_of(rows: pa.Table) -> list[date]:
    days: list[date] = rows["date"].to_pylist()
    return days


@pytest.mark.parametrize(("days", "length"), [(14, 1), (59, 7)])
def test_transactions_arrive_some_days_at_a_time_and_a_few_late(tmp_path: Path, days: int, length: int) -> None:
    """Nothing comes before its day, and what is late is so by three appends at most."""
    parts = arrivals(made(tmp_path, days), seed=1)

    late = 0
    for number, rows in enumerate(parts):
        behind = [number - (day - FIRST_DAY).days // length for day in day_of(rows)]
        assert min(behind) >= 0
        assert max(behind) <= 3
        late += sum(each > 0 for each in behind)
    assert 900 * 0.01 < late < 900 * 0.06


def test_every_transaction_arrives_once_as_it_is_in_the_file(tmp_path: Path) -> None:
    """To the cent, by the product's own check of rows from a table."""
    transactions = made(tmp_path, 59)

    found = check_transactions(pa.concat_tables(arrivals(transactions, seed=1)), "what arrived")

    assert found.table.sort_by("trans_id").equals(transactions.table.sort_by("trans_id"))


def test_the_seed_decides_what_is_late(tmp_path: Path) -> None:
    transactions = made(tmp_path, 30)

    assert arrivals(transactions, seed=1) == arrivals(transactions, seed=1)
    assert arrivals(transactions, seed=1) != arrivals(transactions, seed=2)


def test_each_append_is_a_version_and_the_table_comes_into_being_whole(tmp_path: Path) -> None:
    """Somebody who lands the same at the same time finds it there, and leaves it."""
    parts = arrivals(made(tmp_path, 10), seed=1)
    folder = tmp_path / "deep" / "delta"

    land(parts, folder)
    before = sorted(folder.rglob("*"))
    land(parts, folder)

    assert sorted(folder.rglob("*")) == before
    assert [path.name for path in folder.parent.iterdir()] == ["delta"]
    assert DeltaTable(str(folder)).version() == len(parts) - 1
    seen = 0
    for version, rows in enumerate(parts):
        seen += len(rows)
        assert len(DeltaTable(str(folder), version=version).to_pyarrow_table()) == seen


def test_the_ends_of_int64_can_be_landed(tmp_path: Path) -> None:
    """An amount that a file may hold does not stop the landing."""
    (tmp_path / "bank.csv").write_text(
        "trans_id,account_id,date,kind,amount\n"
        f"1,1,1993-01-01,pension,{2**63 // 100}.07\n2,1,1993-01-01,loan,-{2**63 // 100}.08\n"
    )

    parts = arrivals(read_transactions(tmp_path / "bank.csv"), seed=1)

    amounts = check_transactions(pa.concat_tables(parts), "what arrived").table["amount_minor"].to_pylist()
    assert sorted(amounts) == [-(2**63), 2**63 - 1]
