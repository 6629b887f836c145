"""The main job as its user runs it: separate processes, real overlap, a verdict that can fail."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import EqualTo
from rich.console import Console

from pipelines.generated_bank import generate_bank, write_bank
from pipelines.main_job.conclude import Done, conclude
from pipelines.main_job.judge import judge
from pipelines.main_job.measure import Measured, Mirrored
from pipelines.main_job.report import not_serial
from seriatim.dagster import open_catalog

ROOT = Path(__file__).parents[2]
REAL = "SERIATIM_TRANSACTIONS_REAL"
ACCOUNT = ("bank", "account")
KINDS = [  # As many as make one run of each: of fewer, several.
    *("cash_deposit", "household", "transfer_in", "transfer_out", "insurance"),
    *("standing_order", "percentage_interest", "balance_fee"),
]


def _main_job(home: Path, transactions: Path | None, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SERIATIM_", "DAGSTER_"))}
    if transactions:
        environment["SERIATIM_TRANSACTIONS"] = str(transactions)
    return subprocess.run(
        [sys.executable, "-m", "pipelines.main_job", "--home", str(home), *options],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _catalog(home: Path) -> Catalog:
    return open_catalog("bank", uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/warehouse", properties={})


def _figure(output: str, name: str) -> int:
    found = re.search(rf"│ {name}\s+│ ([\d,]+)", output)
    assert found, output
    return int(found[1].replace(",", ""))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, subprocess.CompletedProcess[str]]:
    """A main job on a small generated bank, one day of eight kinds: its folder, its transactions, what it said."""
    path = tmp_path_factory.mktemp("main-job")
    file = path / "bank.csv"
    bank = generate_bank(7, date(1993, 5, 31), days=1, accounts=5, transactions=150)
    write_bank(file, bank.filter(pc.is_in(bank["kind"], pa.array(KINDS))))
    return path / "home", file, _main_job(path / "home", file, "--workers", "4")


def test_overlapping_runs_leave_what_the_serial_oracle_says(
    finished: tuple[Path, Path, subprocess.CompletedProcess[str]],
) -> None:
    """Four runs read the same base for certain, so three of them must have recomputed for the balances to be right."""
    _, _, job = finished

    assert job.returncode == 0, job.stdout + job.stderr
    assert "all 5 balances equal the serial oracle's" in job.stdout
    assert re.search(
        r"^Audit: \d+ commits of bank.account, bank.conflicts and bank.transactions, 0 anomalies\.$",
        job.stdout,
        re.MULTILINE,
    )
    assert _figure(job.stdout, "commits") == len(KINDS)
    assert _figure(job.stdout, "runs") == len(KINDS) + 4
    assert _figure(job.stdout, "Delta versions") == 2
    assert _figure(job.stdout, "peak runs in flight") >= 4
    assert _figure(job.stdout, "conflicts met") >= 3
    assert _figure(job.stdout, "conflicts in bank.conflicts") == _figure(job.stdout, "conflicts met")


def test_each_conflict_is_one_row_of_the_conflicts_table(
    finished: tuple[Path, Path, subprocess.CompletedProcess[str]],
) -> None:
    """Who lost to whom, both runs and operations, and what it cost."""
    home, _, job = finished

    rows = _catalog(home).load_table("bank.conflicts").scan().to_arrow().to_pylist()

    assert len({row["event_id"] for row in rows}) == len(rows) == _figure(job.stdout, "conflicts met")
    for row in rows:
        assert row["table"] == "bank.account"
        assert row["loser_run_id"] != row["winner_run_id"]
        assert row["expected_snapshot_id"] != row["actual_snapshot_id"]


@contextmanager
def _taken_back(catalog: Catalog) -> Iterator[None]:
    """Set the table back to where it was before the block."""
    before = catalog.load_table(ACCOUNT).current_snapshot()
    assert before is not None
    try:
        yield
    finally:
        catalog.load_table(ACCOUNT).manage_snapshots().rollback_to_snapshot(before.snapshot_id).commit()


def _lose_an_update(catalog: Catalog) -> None:
    table = catalog.load_table(ACCOUNT)
    row = table.scan(row_filter=EqualTo("id", 3)).to_arrow().to_pylist()[0]
    stale = pa.Table.from_pylist([{**row, "bal": row["bal"] - 1}], schema=table.schema().as_arrow())
    table.overwrite(stale, EqualTo("id", 3))


def _drop_an_account(catalog: Catalog) -> None:
    catalog.load_table(ACCOUNT).delete(EqualTo("id", 3))


def _open_an_account_twice(catalog: Catalog) -> None:
    table = catalog.load_table(ACCOUNT)
    table.append(pa.Table.from_pylist([{"id": 3, "bal": 0}], schema=table.schema().as_arrow()))


@pytest.mark.parametrize(
    ("sabotage", "said"), [(_lose_an_update, "account 3: "), (_drop_an_account, "missing from the table: accounts 3")]
)
def test_the_verdict_names_what_differs(
    finished: tuple[Path, Path, subprocess.CompletedProcess[str]],
    sabotage: Callable[[Catalog], None],
    said: str,
) -> None:
    """A verdict that cannot fail would be worth nothing: one cent less in one account is enough."""
    home, file, _ = finished
    catalog = _catalog(home)
    assert judge(catalog, ACCOUNT, file, home / "bank_transactions").is_serial

    with _taken_back(catalog):
        sabotage(catalog)
        judgement = judge(catalog, ACCOUNT, file, home / "bank_transactions")

    assert not judgement.is_serial
    assert any(said in line for line in not_serial(judgement))


@pytest.mark.parametrize(
    ("sabotage", "said"),
    [
        (_lose_an_update, "bank.account: foreign write: it moves the sum of bal by -1 "),
        (_open_an_account_twice, "bank.account: duplicate key: 1 key(s) belong to several rows"),
    ],
)
def test_an_anomaly_is_named_and_makes_the_verdict_red(
    finished: tuple[Path, Path, subprocess.CompletedProcess[str]],
    sabotage: Callable[[Catalog], None],
    said: str,
) -> None:
    """By the auditor, which knows nothing of the oracle; the main job's exit code is 1 if anything is named."""
    home, file, _ = finished
    catalog, shown = _catalog(home), io.StringIO()
    console = Console(file=shown, width=200)
    mirrored = Mirrored(4, 2, 0)
    done = Done(Measured(14, 0, 6, 14, 17, 3, 100), mirrored, runs=(), recorded=3, wall_s=1.0)
    assert conclude(console, catalog, file, home / "bank_transactions", done, in_flight_min=4) == []

    with _taken_back(catalog):
        sabotage(catalog)
        problems = conclude(console, catalog, file, home / "bank_transactions", done, in_flight_min=4)

    assert any(line.startswith(f"NOT clean: {said}") for line in problems), problems
    assert ", 1 anomalies." in shown.getvalue()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    """The main job starts from nothing, and never deletes what somebody named."""
    (tmp_path / "mine").write_text("precious")

    job = _main_job(tmp_path, None)

    assert job.returncode == 2
    assert "is not empty" in job.stdout
    assert (tmp_path / "mine").read_text() == "precious"


def test_a_file_that_cannot_be_used_is_said_and_nothing_is_made(tmp_path: Path) -> None:
    """File, row and value; exit code 2."""
    file = tmp_path / "bank.csv"
    file.write_text(
        "trans_id,account_id,date,kind,amount\n1,1,1993-01-01,cash_deposit,1.00\n2,1,1993-01-01,bribe,1.00\n"
    )

    job = _main_job(tmp_path / "home", file)

    assert job.returncode == 2
    assert "bank.csv" in job.stdout
    assert "bribe" in job.stdout
    assert not (tmp_path / "home" / "warehouse").exists()


@pytest.mark.slow
@pytest.mark.skipif(REAL not in os.environ, reason=f"{REAL} does not name the real bank year")
def test_the_real_bank_year_is_serial(tmp_path: Path) -> None:
    """28,205 transactions of 1,139 accounts in overlapping runs of a month each, equal cent for cent."""
    job = _main_job(tmp_path / "home", Path(os.environ[REAL]))

    print(job.stdout)
    assert job.returncode == 0, job.stdout + job.stderr
    assert "28,205 transactions of 1,139 accounts, 11 kinds" in job.stdout
    assert "all 1,139 balances equal the serial oracle's" in job.stdout


@pytest.mark.slow
def test_a_main_job_that_is_ended_ends_its_runs(tmp_path: Path) -> None:
    """They would go on writing to its folder, which the next main job makes anew."""
    job = subprocess.Popen(
        [sys.executable, "-m", "pipelines.main_job", "--home", str(tmp_path / "home")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with job:
        assert job.stdout is not None
        lines = iter(job.stdout.readline, b"")
        assert any(line.startswith(b"[1/") for line in lines)  # One run has ended, so others have begun.

        job.terminate()

        assert job.wait() == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.killpg(job.pid, 0)
