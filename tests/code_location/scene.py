"""A small bank of its own for each test, and the ways to post to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import dagster as dg
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import TableRequirement, TableUpdate

from assets.account_table import ACCOUNT_TABLE, OPENING
from assets.accounts import accounts
from assets.postings import postings
from assets.tables import CONFLICTS_TABLE
from pipelines.resources import BankCatalog, TransactionsFile

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 180  # Far above what anything here takes; a hang then fails instead of blocking the suite.
TRANSACTIONS = """\
trans_id,account_id,date,kind,amount
1,1,1993-01-01,cash_deposit,100.00
2,2,1993-01-01,cash_deposit,50.00
3,1,1993-01-02,cash_deposit,10.00
4,1,1993-01-01,household,-30.00
5,2,1993-01-03,standing_order,-500.00
6,1,1993-01-03,percentage_interest,10.00
"""

Rival = Callable[[], object]


class Scene:
    """The bank of `TRANSACTIONS` under a folder of its own, reached by the environment as a user's would be."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.transactions = folder / "transactions.csv"
        self.transactions.write_text(TRANSACTIONS, encoding="utf-8")
        self.environment = {
            "SERIATIM_TRANSACTIONS": str(self.transactions),
            "SERIATIM_CATALOG_URI": f"sqlite:///{folder}/catalog.db?timeout=60",
            "SERIATIM_WAREHOUSE": f"file://{folder}/warehouse",
        }

    def post(
        self,
        kind: str,
        *days: str,
        instance: dg.DagsterInstance | None = None,
        rival: Rival | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> dg.ExecuteInProcessResult:
        """Materialize the asset of `kind` for one day, or for a range from the first to the last of several.

        `rival` runs between the read and the commit of the first attempt.
        """
        asset = next(asset for asset in postings if asset.key.path[-1] == kind)
        span = {"dagster/asset_partition_range_start": days[0], "dagster/asset_partition_range_end": days[-1]}
        return dg.materialize(
            [asset],
            instance=instance,
            resources=self.resources(rival),
            partition_key=days[0] if len(days) == 1 else None,
            tags=span if len(days) > 1 else None,
            run_config={"ops": {asset.op.name: {"config": dict(config or {})}}},
            raise_on_error=False,
        )

    def open_accounts(self, *, tags: Mapping[str, str] | None = None) -> dg.ExecuteInProcessResult:
        """Materialize the asset that opens accounts."""
        return dg.materialize([accounts], resources=self.resources(), tags=dict(tags or {}), raise_on_error=False)

    def resources(self, rival: Rival | None = None) -> dict[str, object]:
        """Return the resources of the code location; with a rival, its catalog is raced."""
        catalog = BankCatalog() if rival is None else RacedResource(rival)
        return {"catalog": catalog, "transactions": TransactionsFile()}

    def catalog(self) -> Catalog:
        """Open the catalog anew."""
        return BankCatalog().load()

    def balances(self) -> dict[int, int]:
        """Read every balance, in minor units."""
        rows = self.catalog().load_table(ACCOUNT_TABLE).scan().to_arrow().to_pylist()
        return {row["id"]: row["bal"] for row in rows}

    def operations(self) -> list[list[str]]:
        """Return the operations of each commit to the account table, the oldest first."""
        # A commit may be several snapshots, which all name its operations.
        return [list(ids) for ids in dict.fromkeys(tuple(_operations(snapshot)) for snapshot in self.snapshots())]

    def history(self) -> list[list[str]]:
        """Return the operations of each commit after the one that opened the accounts."""
        opening, *later = self.operations()
        assert opening == [OPENING]
        return later

    def snapshots(self) -> list[Snapshot]:
        """Return the account table's snapshots, the oldest first."""
        return self.catalog().load_table(ACCOUNT_TABLE).metadata.snapshots

    def conflicts(self) -> list[dict[str, Any]]:
        """Read the conflicts table."""
        return list(self.catalog().load_table(CONFLICTS_TABLE).scan().to_arrow().to_pylist())

    def dagster(self, *arguments: str, home: Path | None = None) -> subprocess.Popen[str]:
        """Start the `dagster` command in the checkout, as the README writes it; the output is one text."""
        variables = {name: value for name, value in os.environ.items() if name != "DAGSTER_HOME"}
        variables |= {**self.environment, "DAGSTER_DISABLE_TELEMETRY": "1"}
        if home is not None:
            variables["DAGSTER_HOME"] = str(home)
        return subprocess.Popen(
            [sys.executable, "-m", "dagster", *arguments],
            cwd=ROOT,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


class RacedResource:
    """Stands for the catalog resource, and hands out catalogs that let a rival in before the run's first posting."""

    def __init__(self, *rivals: Rival) -> None:
        self._rivals = deque(rivals)

    def load(self) -> Catalog:
        """Open the catalog."""
        catalog = RacedCatalog(
            "bank", uri=os.environ["SERIATIM_CATALOG_URI"], warehouse=os.environ["SERIATIM_WAREHOUSE"]
        )
        catalog.rivals = self._rivals
        return catalog


class RacedCatalog(SqlCatalog):
    """A catalog in which the next rival commits when a commit has been computed and is about to be made."""

    rivals: deque[Rival]

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Let one rival commit, then try."""
        if table.current_snapshot() is not None:  # Not before the accounts are open.
            with suppress(IndexError):
                self.rivals.popleft()()
        return super().commit_table(table, requirements, updates)


def metadata_of(result: dg.ExecuteInProcessResult, partition: str | None = None) -> dict[str, Any]:
    """Return the metadata of the run's one materialization, or of that of a partition."""
    found = [each for each in _materializations(result) if partition in (None, each.partition)]
    assert len(found) == 1
    return {name: entry.value for name, entry in found[0].metadata.items()}


def partitions_of(result: dg.ExecuteInProcessResult) -> list[str | None]:
    """Return the partitions that the run materialized."""
    return [each.partition for each in _materializations(result)]


def error_of(result: dg.ExecuteInProcessResult) -> tuple[str, str]:
    """Return the type and the message of what the run's step failed with."""
    (failure,) = result.filter_events(lambda event: event.is_step_failure)
    error = failure.step_failure_data.error
    assert error is not None
    assert error.cause is not None
    return str(error.cause.cls_name), error.cause.message


def _materializations(result: dg.ExecuteInProcessResult) -> list[dg.AssetMaterialization]:
    events = result.filter_events(lambda event: event.is_step_materialization)
    return [event.step_materialization_data.materialization for event in events]


def _operations(snapshot: Snapshot) -> list[str]:
    assert snapshot.summary is not None
    return list(json.loads(snapshot.summary.additional_properties["seriatim.operation-ids"]))
