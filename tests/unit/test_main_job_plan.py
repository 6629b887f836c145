"""Which runs the main job launches."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from assets.transactions import Transactions, read_transactions
from pipelines.main_job.plan import Posting, plan

HEADER = "trans_id,account_id,date,kind,amount\n"


def _bank(path: Path, *rows: str) -> Transactions:
    file = path / "bank.csv"
    file.write_text(HEADER + "".join(f"{number},1,{row},1.00\n" for number, row in enumerate(rows)))
    return read_transactions(file)


def test_a_run_posts_one_kind_and_one_month_within_the_files_days(tmp_path: Path) -> None:
    """The first and the last month are cut where the file begins and ends; a month without the kind has no run."""
    kinds = ("cash_deposit", "cash_withdrawal", "household", "loan", "insurance")
    rows = [f"1993-01-05,{kind}" for kind in kinds] + [f"1993-03-09,{kind}" for kind in kinds] + ["1993-02-10,loan"]

    runs = plan(_bank(tmp_path, *rows), party=1)

    spans = {(run.kind, run.first_day, run.last_day) for run in runs}
    expected = {(kind, date(1993, 1, 5), date(1993, 1, 31)) for kind in kinds}
    expected |= {(kind, date(1993, 3, 1), date(1993, 3, 9)) for kind in kinds}
    expected |= {("loan", date(1993, 2, 1), date(1993, 2, 28))}
    assert spans == expected
    assert len(runs) == len(expected)


def test_a_small_file_is_cut_into_days(tmp_path: Path) -> None:
    """Two months of one kind would be two runs, which hardly overlap."""
    days = [f"1993-01-{day:02}" for day in range(1, 10)]

    runs = plan(_bank(tmp_path, *(f"{day},loan" for day in days)), party=4)

    assert [run.first_day.isoformat() for run in runs] == days
    assert all(run.first_day == run.last_day for run in runs)


def test_the_opening_party_is_of_as_many_kinds_and_starts_first(tmp_path: Path) -> None:
    """Runs of one kind would share an operation or wait for one another's start; the first ones are sure to overlap."""
    kinds = ("cash_deposit", "cash_withdrawal", "household", "loan", "insurance")
    rows = [f"1993-0{month}-05,{kind}" for month in (1, 2) for kind in kinds]

    runs = plan(_bank(tmp_path, *rows), party=4)

    party = [run for run in runs if run.is_of_opening_party]
    assert list(runs[:4]) == party
    assert len({run.kind for run in party}) == 4
    assert len(runs) == len({(run.kind, run.first_day) for run in runs}) == 10


def test_a_lone_kind_has_nobody_to_meet(tmp_path: Path) -> None:
    """A run that waits for others that never come would fail."""
    runs = plan(_bank(tmp_path, "1993-01-01,loan"), party=4)

    assert runs == (Posting("loan", date(1993, 1, 1), date(1993, 1, 1)),)
