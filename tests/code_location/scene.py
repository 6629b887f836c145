"""A small bank of its own for each test, and the ways to post to it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AddSnapshotUpdate, TableRequirement, TableUpdate

from assets.account_table import ACCOUNT_TABLE, OPENINGS
from assets.accounts import accounts
from assets.postings import postings
from assets.tables import CONFLICTS_TABLE
from assets.transactions_table import TRANSACTIONS_TABLE, transactions
from pipelines.resources import BankCatalog, TransactionsDelta
from seriatim.dagster import ensure_namespace
from seriatim.mirror import mirror

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 180  # Far above what anything here takes; a hang then fails instead of blocking the suite.
ARRIVALS = (  # What each of the first versions brings.
    (
        "1,1,1993-01-01,cash_deposit,100.00",
        "2,2,1993-01-01,cash_deposit,50.00",
        "4,1,1993-01-01,household,-30.00",
    ),
    ("3,1,1993-01-02,cash_deposit,10.00",),
    ("5,2,1993-01-03,standing_order,-500.00", "6,1,1993-01-03,percentage_interest,10.00"),
)
_AMOUNT = pa.decimal128(19, 2)

Rival = Callable[[], object]


class Scene:
    """The bank of `ARRIVALS` under a folder of its own, reached by the environment as a user's would be."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.delta = str(folder / "bank_transactions")
        self.environment = {
            "SERIATIM_DELTA": self.delta,
            "SERIATIM_CATALOG_URI": f"sqlite:///{folder}/catalog.db?timeout=60",
            "SERIATIM_WAREHOUSE": f"file://{folder}/warehouse",
        }

    def arrive(self, *rows: str) -> int:
        """Append transactions to the Delta table as the upstream job does; return the version that they are."""
        parts = [row.split(",") for row in rows]
        columns = {
            "trans_id": [int(part[0]) for part in parts],
            "account_id": [int(part[1]) for part in parts],
            "date": [date.fromisoformat(part[2]) for part in parts],
            "kind": [part[3] for part in parts],
            "amount": pa.array([Decimal(part[4]) for part in parts], _AMOUNT),
        }
        write_deltalake(self.delta, pa.table(columns), mode="append")
        return DeltaTable(self.delta).version()

    def mirror(self) -> None:
        """Mirror all that has arrived, without Dagster."""
        catalog = self.catalog()
        ensure_namespace(catalog, TRANSACTIONS_TABLE[:-1])
        mirror(self.delta, catalog, TRANSACTIONS_TABLE)

    def materialize_mirror(
        self,
        *,
        instance: dg.DagsterInstance | None = None,
        rival: Rival | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> dg.ExecuteInProcessResult:
        """Materialize the asset that mirrors; `rival` runs before its first commit."""
        return dg.materialize(
            [transactions],
            instance=instance,
            resources=self.resources(rival),
            run_config={"ops": {transactions.op.name: {"config": dict(config or {})}}},
            raise_on_error=False,
        )

    def post(
        self,
        kind: str,
        upto: int | None = None,
        *,
        instance: dg.DagsterInstance | None = None,
        rival: Rival | None = None,
    ) -> dg.ExecuteInProcessResult:
        """Materialize the asset of `kind`, up to a Delta version, or to the last that is mirrored.

        `rival` runs between the read and the commit of the first attempt.
        """
        asset = next(asset for asset in postings if asset.key.path[-1] == kind)
        return dg.materialize(
            [asset],
            instance=instance,
            resources=self.resources(rival),
            run_config={"ops": {asset.op.name: {"config": {} if upto is None else {"upto": upto}}}},
            raise_on_error=False,
        )

    def open_accounts(self, *, instance: dg.DagsterInstance | None = None) -> dg.ExecuteInProcessResult:
        """Materialize the asset that opens accounts."""
        return dg.materialize([accounts], instance=instance, resources=self.resources(), raise_on_error=False)

    def resources(self, rival: Rival | None = None) -> dict[str, object]:
        """Return the resources of the code location; with a rival, its catalog is raced."""
        catalog = BankCatalog() if rival is None else RacedResource(rival)
        return {"catalog": catalog, "transactions": TransactionsDelta()}

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
        """Return the operations of each commit but of those that opened accounts."""
        opening, *later = self.operations()
        assert is_opening(opening)
        return [ids for ids in later if not is_opening(ids)]

    def snapshots(self) -> list[Snapshot]:
        """Return the account table's snapshots, the oldest first."""
        return self.catalog().load_table(ACCOUNT_TABLE).metadata.snapshots

    def conflicts(self) -> list[dict[str, Any]]:
        """Read the conflicts table."""
        return list(self.catalog().load_table(CONFLICTS_TABLE).scan().to_arrow().to_pylist())

    def dagster(self, *arguments: str, home: Path | None = None) -> subprocess.Popen[str]:
        """Start the `dagster` command in the checkout, as the README writes it; the output is one text."""
        return self.typed(shlex.join([".venv/bin/dagster", *arguments]), home=home)

    def typed(self, command: str, *, home: Path | None = None, log: Path | None = None) -> subprocess.Popen[str]:
        """Start a command in the checkout as a document writes it; the output is one text, or goes to `log`."""
        instance = {} if home is None else {"DAGSTER_HOME": str(home)}
        return typed(command, {**self.environment, **instance}, log=log)


def typed(command: str, environment: Mapping[str, str], *, log: Path | None = None) -> subprocess.Popen[str]:
    """Start a command by a shell in the checkout, whose environment is the one of this process; it leads a group."""
    variables = {name: value for name, value in os.environ.items() if name != "DAGSTER_HOME"}
    scripts = Path(sys.executable).parent
    path = os.pathsep.join([str(scripts), os.environ.get("PATH", os.defpath)])
    with log.open("a") if log is not None else nullcontext(subprocess.PIPE) as output:
        return subprocess.Popen(
            ["sh", "-c", f"exec {command.replace('.venv/bin', shlex.quote(str(scripts)))}"],
            cwd=ROOT,
            env={**variables, "PATH": path, "DAGSTER_DISABLE_TELEMETRY": "1", **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
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
        """Let one rival commit, then try; not while accounts are being opened."""
        if not is_opening([id_ for update in updates for id_ in operations_of(update)]):
            with suppress(IndexError):
                self.rivals.popleft()()
        return super().commit_table(table, requirements, updates)


def is_opening(operation_ids: Sequence[str]) -> bool:
    """Whether a commit opened accounts."""
    return any(each.startswith(f"{OPENINGS}@") for each in operation_ids)


def metadata_of(result: dg.ExecuteInProcessResult) -> dict[str, Any]:
    """Return the metadata of the run's one materialization."""
    (found,) = _materializations(result)
    return {name: entry.value for name, entry in found.metadata.items()}


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


def operations_of(update: TableUpdate) -> list[str]:
    """Return the operations that an update of the table's metadata names."""
    return _operations(update.snapshot) if isinstance(update, AddSnapshotUpdate) else []


def _operations(snapshot: Snapshot) -> list[str]:
    assert snapshot.summary is not None
    return list(json.loads(snapshot.summary.additional_properties.get("seriatim.operation-ids", "[]")))
