"""The code location of the bank with gates in its commits, at which a run may be killed or held.

A gate does nothing unless the test has left a plan for it: a file `before` or `after` in the folder that `GATES` names,
which says what the first run that comes there does. See `tests/code_location/station.py`.
"""

from __future__ import annotations

import os
import signal
from enum import Enum
from pathlib import Path
from typing import Final

import dagster as dg
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate

from assets.accounts import accounts
from assets.postings import postings
from assets.tables import account, conflicts
from assets.transactions_table import source, transactions
from pipelines.resources import CATALOG_URI, WAREHOUSE, BankCatalog, TransactionsDelta
from tests.code_location.scene import is_opening, operations_of

GATES: Final = "SERIATIM_TEST_GATES"
REACHED, GO = "reached", "go"  # Pipes: the run says that it is there, and is told to go on.


class Plan(Enum):
    """What happens at a gate to the first run that comes there."""

    DIE = "the step's process is killed"
    ORPHAN = "the parent of the step's process is killed, and the step goes on"
    ORPHAN_AND_HOLD = "so it is, and the step goes on when it is told to"
    HOLD = "the step goes on when it is told to"


class GatedCatalog(BankCatalog):
    """The bank's catalog, with gates before and after each commit of a posting."""

    def load(self) -> Catalog:
        """Open the catalog, which is there."""
        BankCatalog.load(self)
        return _Catalog("bank", uri=os.environ[CATALOG_URI], warehouse=os.environ[WAREHOUSE])


class _Catalog(SqlCatalog):
    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        operation_ids = [id_ for update in updates for id_ in operations_of(update)]
        is_posting = bool(operation_ids) and not is_opening(operation_ids)
        if is_posting:
            _reach("before")
        response = super().commit_table(table, requirements, updates)
        if is_posting:
            _reach("after")
        return response


def _reach(gate: str) -> None:
    folder = Path(os.environ[GATES])
    taken = folder / f"{gate}-{os.getpid()}"
    try:
        (folder / gate).rename(taken)  # In one step, so that one run alone has it.
    except FileNotFoundError:
        return
    plan = Plan[taken.read_text(encoding="utf-8")]
    if plan is Plan.DIE:
        os.kill(os.getpid(), signal.SIGKILL)
    if plan in (Plan.ORPHAN, Plan.ORPHAN_AND_HOLD):
        os.kill(os.getppid(), signal.SIGKILL)
    if plan in (Plan.HOLD, Plan.ORPHAN_AND_HOLD):
        (folder / REACHED).write_text(str(os.getpid()))  # Both return when the test has opened the other end.
        (folder / GO).read_text()


def _jobs() -> list[dg.UnresolvedAssetJobDefinition]:
    """Return a job for each kind as in the bank, and one whose step is a process of its own below the run's."""
    jobs = []
    for asset in postings:
        name = f"post_{asset.key.path[-1]}"
        jobs.append(dg.define_asset_job(name, selection=[asset]))
        jobs.append(dg.define_asset_job(f"{name}_apart", selection=[asset], executor_def=dg.multiprocess_executor))
    return jobs


_by_name = {job.name: job for job in _jobs()}

defs = dg.Definitions(
    assets=[source, transactions, accounts, *postings, account, conflicts],
    jobs=list(_by_name.values()),
    schedules=[dg.ScheduleDefinition(name="pension_daily", job=_by_name["post_pension"], cron_schedule="0 2 * * *")],
    resources={"catalog": GatedCatalog(), "transactions": TransactionsDelta()},
    executor=dg.in_process_executor,
)
