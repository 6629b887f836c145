"""A bank of a few accounts in one Iceberg table, with the rivals that get in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.update import AssertTableUUID, RemoveSnapshotsUpdate, SetSnapshotRefUpdate
from pyiceberg.types import IntegerType, LongType, NestedField

from tests.faults.catalog import FaultyCatalog
from tests.faults.files import Inventory, take_inventory

Row = Mapping[str, Any]  # The values of one row, of whatever types the table under test has.

THREE_ACCOUNTS: tuple[Row, ...] = ({"id": 1, "bal": 100}, {"id": 2, "bal": 200}, {"id": 3, "bal": 300})


def account_schema(
    *extra: NestedField, bits: tuple[int, int] = (64, 64), required: tuple[bool, bool] = (False, False)
) -> Schema:
    """Return the schema of an account table: `id` and `bal` of the given widths, and further columns."""
    widths = {32: IntegerType, 64: LongType}
    return Schema(
        NestedField(1, "id", widths[bits[0]](), required=required[0]),
        NestedField(2, "bal", widths[bits[1]](), required=required[1]),
        *extra,
    )


class Bank:
    """One table `bank.account` in a SQLite catalog and a warehouse under `path`.

    What a rival does (`deposit`, `compact`, ...) goes through a fresh catalog object and plain PyIceberg.
    """

    identifier = "bank.account"

    def __init__(self, path: Path) -> None:
        """Live under `path`."""
        self.path = path
        self._connections: list[FaultyCatalog] = []

    @property
    def database(self) -> Path:
        """The catalog's SQLite file."""
        return self.path / "catalog.db"

    def properties(self, *, lock_wait_s: int = 60) -> dict[str, str]:
        """Return what a catalog needs to reach this bank."""
        return {"uri": f"sqlite:///{self.database}?timeout={lock_wait_s}", "warehouse": f"file://{self.path}"}

    def connect(self, *, lock_wait_s: int = 60) -> FaultyCatalog:
        """Return a new catalog object on the same database."""
        catalog = FaultyCatalog("bank", **self.properties(lock_wait_s=lock_wait_s))
        self._connections.append(catalog)
        return catalog

    def close(self) -> None:
        """Give back every connection."""
        for catalog in self._connections:
            catalog.engine.dispose()

    @contextmanager
    def rival(self) -> Iterator[Catalog]:
        """Yield somebody else's catalog object."""
        catalog = SqlCatalog("bank", **self.properties())
        try:
            yield catalog
        finally:
            catalog.engine.dispose()

    def create(
        self,
        rows: Sequence[Row] = THREE_ACCOUNTS,
        *,
        schema: Schema | None = None,
        spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
        file_per_row: bool = False,
        properties: Mapping[str, str] | None = None,  # None: no table properties.
    ) -> Bank:
        """Create the table with `rows`, all in one file or each in its own, and return the bank."""
        with self.rival() as catalog:
            catalog.create_namespace_if_not_exists("bank")
            table = catalog.create_table(
                self.identifier, schema or account_schema(), partition_spec=spec, properties=dict(properties or {})
            )
            batches = [[row] for row in rows] if file_per_row or not rows else [list(rows)]
            for batch in batches:
                table.append(pa.Table.from_pylist(batch, schema=table.schema().as_arrow()))
        return self

    def table(self) -> Table:
        """Return the table as it is now."""
        with self.rival() as catalog:
            return catalog.load_table(self.identifier)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as they are now, in the order of their ids (NULL first)."""
        rows: list[dict[str, Any]] = self.table().scan().to_arrow().to_pylist()
        return sorted(rows, key=lambda row: (row["id"] is not None, row["id"]))

    def balances(self) -> dict[Any, Any]:
        """Return the balance of each id."""
        return {row["id"]: row["bal"] for row in self.rows()}

    def inventory(self) -> Inventory:
        """Return which files the table needs now, and which there are."""
        return take_inventory(self.table())

    def snapshot_ids(self) -> list[int]:
        """Return the ids of the snapshots that the table still has."""
        return [snapshot.snapshot_id for snapshot in self.table().metadata.snapshots]

    def head(self) -> int | None:
        """Return the id of the current snapshot (None: the table is empty)."""
        snapshot = self.table().current_snapshot()
        return snapshot.snapshot_id if snapshot else None

    def change(self, account_id: int, **values: Any) -> None:
        """Set columns of one row and keep the others."""
        with self.rival() as catalog:
            table = catalog.load_table(self.identifier)
            only = EqualTo("id", account_id)
            rows = [{**row, **values} for row in table.scan(row_filter=only).to_arrow().to_pylist()]
            table.overwrite(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()), only)

    def deposit(self, amount: int) -> None:
        """Add `amount` to account 1."""
        self.change(1, bal=self.balances()[1] + amount)

    def roll_back_a_deposit(self, amount: int) -> None:
        """Deposit `amount`, then set the table back to the snapshot before."""
        before = self.head()
        self.deposit(amount)
        self.roll_back(before)

    def roll_back(self, snapshot_id: int | None) -> None:
        """Set the table back to one of its snapshots."""
        assert snapshot_id is not None
        with self.rival() as catalog:
            table = catalog.load_table(self.identifier)
            back = SetSnapshotRefUpdate(
                ref_name="main",
                type="branch",
                snapshot_id=snapshot_id,
                max_ref_age_ms=None,
                max_snapshot_age_ms=None,
                min_snapshots_to_keep=None,
            )
            catalog.commit_table(table, (AssertTableUUID(uuid=table.metadata.table_uuid),), (back,))

    def close_account(self, account_id: int) -> None:
        """Delete a row."""
        with self.rival() as catalog:
            catalog.load_table(self.identifier).delete(EqualTo("id", account_id))

    def open_account(self, account_id: int, balance: int) -> None:
        """Append a row."""
        with self.rival() as catalog:
            table = catalog.load_table(self.identifier)
            row = {"id": account_id, "bal": balance}
            table.append(pa.Table.from_pylist([row], schema=table.schema().as_arrow()))

    def append_to_branch(self, branch: str) -> None:
        """Make a snapshot that is not on main."""
        with self.rival() as catalog:
            table = catalog.load_table(self.identifier)
            head = table.metadata.current_snapshot_id
            assert head is not None
            table.manage_snapshots().create_branch(snapshot_id=head, branch_name=branch).commit()
            row = pa.Table.from_pylist([{"id": 9, "bal": 9}], schema=table.schema().as_arrow())
            table.append(row, branch=branch)

    def compact(self) -> None:
        """Write all rows again, into one file, with the same values."""
        with self.rival() as catalog:
            table = catalog.load_table(self.identifier)
            table.overwrite(table.scan().to_arrow())

    def add_column(self) -> None:
        """Change the schema, and no row."""
        with self.rival() as catalog, catalog.load_table(self.identifier).update_schema() as update:
            update.add_column("note", LongType())

    def replace_balance_column(self, balance: int | None) -> None:
        """Drop `bal`, add a new column of that name, and give every row `balance` in it (None: leave it NULL)."""
        with self.rival() as catalog:
            table = catalog.load_table(self.identifier)
            with table.update_schema() as update:
                update.delete_column("bal")
            with table.update_schema() as update:
                update.add_column("bal", LongType())
            if balance is not None:
                rows = [{**row, "bal": balance} for row in table.scan().to_arrow().to_pylist()]
                table.overwrite(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))

    def set_property(self, key: str, value: str) -> None:
        """Change a table property, and no row."""
        with self.rival() as catalog, catalog.load_table(self.identifier).transaction() as transaction:
            transaction.set_properties({key: value})

    def expire_all_but_head(self) -> None:
        """Forget every snapshot but the current one, as maintenance does; the files stay."""
        with self.rival() as catalog:
            table = catalog.load_table(self.identifier)
            head = table.metadata.current_snapshot_id
            old = [one.snapshot_id for one in table.metadata.snapshots if one.snapshot_id != head]
            catalog.commit_table(
                table, (AssertTableUUID(uuid=table.metadata.table_uuid),), (RemoveSnapshotsUpdate(snapshot_ids=old),)
            )

    def drop(self) -> None:
        """Drop the table."""
        with self.rival() as catalog:
            catalog.drop_table(self.identifier)

    def replace(self, rows: Sequence[Row]) -> None:
        """Drop the table and create another of the same name."""
        self.drop()
        self.create(rows)
