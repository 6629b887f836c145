"""A bank's transactions posted by overlapping runs of which many are killed and launched again: equal to the oracle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from random import Random

import pytest

from assets.account_table import ACCOUNT_TABLE
from assets.transactions import read_transactions
from pipelines.generated_bank import generate_bank, write_bank
from pipelines.instance import prepare_instance
from pipelines.main_job.judge import judge
from pipelines.main_job.plan import Posting, plan
from pipelines.resources import CATALOG_URI, TRANSACTIONS, WAREHOUSE
from seriatim.dagster import open_catalog
from tests.code_location.gated import GATES, Plan

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")

ROOT = Path(__file__).parents[2]
REAL = "SERIATIM_TRANSACTIONS_REAL"
WORKERS = 6
SEED = 1993


@dataclass(frozen=True, slots=True)
class _Bank:
    """A bank's transactions, and a folder for its catalog, its table and its Dagster instance."""

    home: Path
    transactions: Path

    def post(self, number: int, posting: Posting, gate: str | None) -> list[int]:
        """Launch a run, which is killed at the gate if one is named, and launch it again; return the exit codes."""
        gates = self.home / "gates" / str(number)
        gates.mkdir(parents=True)
        if gate is not None:
            (gates / gate).write_text(Plan.DIE.name, encoding="utf-8")
        codes = [self._run(number, posting, gates)]
        while codes[-1] == -signal.SIGKILL:
            codes.append(self._run(number, posting, gates))
        return codes

    def properties(self) -> dict[str, str]:
        return {"uri": f"sqlite:///{self.home}/catalog.db?timeout=60", "warehouse": f"file://{self.home}/warehouse"}

    def _run(self, number: int, posting: Posting, gates: Path) -> int:
        command = [sys.executable, "-m", "dagster", "asset", "materialize", "-m", "tests.code_location.gated"]
        command += ["--select", f'key:"bank/{posting.kind}"']
        command += ["--partition-range", f"{posting.first_day}...{posting.last_day}"]
        variables = {
            **os.environ,
            TRANSACTIONS: str(self.transactions),
            CATALOG_URI: self.properties()["uri"],
            WAREHOUSE: self.properties()["warehouse"],
            GATES: str(gates),
            "DAGSTER_HOME": str(self.home / "dagster"),
            "DAGSTER_DISABLE_TELEMETRY": "1",
        }
        with (self.home / f"{number}-{posting.kind}.log").open("ab") as log:
            return subprocess.run(command, cwd=ROOT, env=variables, stdout=log, stderr=log, check=False).returncode


def _check(home: Path, transactions: Path, *, killed_share: float) -> int:
    """Post all of it, kill a seeded choice, and compare every balance; return how many runs were killed."""
    bank, chance = _Bank(home, transactions), Random(SEED)
    postings: Sequence[Posting] = plan(read_transactions(transactions), party=0)
    gates = [chance.choice(["before", "after"]) if chance.random() < killed_share else None for _ in postings]
    prepare_instance(home / "dagster")

    with ThreadPoolExecutor(WORKERS) as pool:
        codes = list(pool.map(bank.post, range(len(postings)), postings, gates))

    assert codes == [[0] if gate is None else [-signal.SIGKILL, 0] for gate in gates]
    catalog = open_catalog("bank", **bank.properties(), properties={})
    judgement = judge(catalog, ACCOUNT_TABLE, transactions)
    assert judgement.is_serial, (judgement.verdict, judgement.never_landed)
    kills = sum(gate is not None for gate in gates)
    print(f"{len(postings)} runs, {kills} killed, {judgement.verdict.accounts} accounts equal to the cent")
    return kills


@pytest.mark.exhaustive
def test_a_small_bank_whose_runs_are_killed_is_serial(tmp_path: Path) -> None:
    """Half of the runs die, before their commit or after it."""
    transactions = tmp_path / "bank.csv"
    write_bank(transactions, generate_bank(7, date(1993, 5, 31), days=1, accounts=5, transactions=60))

    assert _check(tmp_path, transactions, killed_share=0.5) >= 4


@pytest.mark.exhaustive
@pytest.mark.skipif(REAL not in os.environ, reason=f"{REAL} does not name the real bank year")
def test_the_real_bank_year_whose_runs_are_killed_is_serial(tmp_path: Path) -> None:
    """28,205 transactions in runs of a month each, of which a quarter die on the way."""
    assert _check(tmp_path, Path(os.environ[REAL]), killed_share=0.25) >= 20
