"""A bank's transactions posted by overlapping runs of which many are killed and launched again: equal to the oracle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from random import Random

import pytest

from assets.account_table import ACCOUNT_TABLE
from assets.transactions import read_transactions
from assets.transactions_table import TRANSACTIONS_TABLE
from pipelines.generated_bank import generate_bank, write_bank
from pipelines.instance import prepare_instance
from pipelines.landing import arrivals, land
from pipelines.main_job.fleet import command_of
from pipelines.main_job.judge import judge
from pipelines.main_job.plan import Run, posting_runs
from pipelines.resources import CATALOG_URI, DELTA, WAREHOUSE
from seriatim.dagster import ensure_namespace, open_catalog
from seriatim.mirror import mirror
from tests.code_location.gated import GATES, Plan

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")

ROOT = Path(__file__).parents[2]
REAL = "SERIATIM_TRANSACTIONS_REAL"
WORKERS = 6
SEED = 1993


@dataclass(frozen=True, slots=True)
class _Bank:
    """A bank's transactions, landed, and a folder for its catalog, its table and its Dagster instance."""

    home: Path
    delta: Path

    def post(self, number: int, posting: Run, gate: str | None) -> list[int]:
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

    def _run(self, number: int, posting: Run, gates: Path) -> int:
        command = command_of(posting, module="tests.code_location.gated")
        variables = {
            **os.environ,
            DELTA: str(self.delta),
            CATALOG_URI: self.properties()["uri"],
            WAREHOUSE: self.properties()["warehouse"],
            GATES: str(gates),
            "DAGSTER_HOME": str(self.home / "dagster"),
            "DAGSTER_DISABLE_TELEMETRY": "1",
        }
        with (self.home / f"{number}.log").open("ab") as log:
            return subprocess.run(command, cwd=ROOT, env=variables, stdout=log, stderr=log, check=False).returncode


def _check(home: Path, transactions: Path, *, killed_share: float) -> int:
    """Post all of it, kill a seeded choice, and compare every balance; return how many runs were killed."""
    bank, chance = _Bank(home, home / "bank_transactions"), Random(SEED)
    parts = arrivals(read_transactions(transactions), seed=SEED)
    postings = posting_runs(parts, party=0)
    land(parts, bank.delta)
    catalog = open_catalog("bank", **bank.properties(), properties={})
    ensure_namespace(catalog, TRANSACTIONS_TABLE[:-1])
    mirror(str(bank.delta), catalog, TRANSACTIONS_TABLE)
    gates = [chance.choice(["before", "after"]) if chance.random() < killed_share else None for _ in postings]
    prepare_instance(home / "dagster")

    with ThreadPoolExecutor(WORKERS) as pool:
        codes = list(pool.map(bank.post, range(len(postings)), postings, gates))

    # A run that finds its versions posted, by the next run of its kind, comes to no gate.
    assert all(each in ([0], [-signal.SIGKILL, 0]) for each in codes)
    assert not any(len(each) > 1 for each, gate in zip(codes, gates, strict=True) if gate is None)
    judgement = judge(catalog, ACCOUNT_TABLE, transactions, bank.delta)
    assert judgement.is_serial, (judgement.verdict, judgement.never_posted)
    kills = sum(len(each) > 1 for each in codes)
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
