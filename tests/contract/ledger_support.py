"""What the tests of the ledger share: expiry by others, rollbacks, and a look at what a commit carries."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AssertTableUUID, RemoveSnapshotsUpdate, SetSnapshotRefUpdate, TableUpdate

from seriatim.commit import NoChange, Receipt
from tests.contract.apply_support import call
from tests.faults.bank import Bank
from tests.faults.files import local_path

TAG = "seriatim-ledger"


def note(bank: Bank, *operation_ids: str, **options: Any) -> Receipt:
    """Land operation ids, and no rows."""
    return call(bank, lambda base: NoChange(), *operation_ids, **options)


def head(bank: Bank) -> Snapshot:
    """Return the current snapshot."""
    snapshot = bank.table().current_snapshot()
    assert snapshot is not None
    return snapshot


def words(snapshot: Snapshot) -> dict[str, str]:
    """Return what a snapshot says of itself, as far as it is ours."""
    assert snapshot.summary is not None
    own = snapshot.summary.additional_properties
    return {key: word for key, word in own.items() if key.startswith("seriatim.")}


def recent_ids(snapshot: Snapshot) -> list[str]:
    """Return the operation ids that a commit carries from the ones before it, oldest first."""
    return [id_ for entry in json.loads(words(snapshot).get("seriatim.recent", "[]")) for id_ in entry[2]]


def tagged(bank: Bank, tag: str = TAG) -> int | None:
    """Return the snapshot that the ledger's tag is on (None: there is no such tag)."""
    ref = bank.table().metadata.refs.get(tag)
    return ref.snapshot_id if ref is not None else None


def ledger_files(bank: Bank) -> list[Path]:
    """Return the ledger files that lie in the table's folder."""
    home = local_path(bank.table().location())
    return sorted(home.rglob("*.stats"))


def referenced_files(bank: Bank) -> list[Path]:
    """Return the ledger files that the table's metadata registers."""
    return sorted({local_path(one.statistics_path) for one in bank.table().metadata.statistics})


def named_files(bank: Bank) -> list[Path]:
    """Return the ledger files that a snapshot names."""
    named = (words(snapshot).get("seriatim.ledger") for snapshot in bank.table().metadata.snapshots)
    return sorted({local_path(location) for location in named if location is not None})


def commit(bank: Bank, *updates: TableUpdate) -> None:
    """Commit metadata updates as somebody else would."""
    with bank.rival() as catalog:
        table = catalog.load_table(bank.identifier)
        catalog.commit_table(table, (AssertTableUUID(uuid=table.metadata.table_uuid),), updates)


def expire(bank: Bank, snapshot_ids: Collection[int]) -> None:
    """Forget these snapshots, whatever refers to them."""
    commit(bank, RemoveSnapshotsUpdate(snapshot_ids=list(snapshot_ids)))


def expire_unreferenced(bank: Bank) -> None:
    """Forget every snapshot that is neither the head of a branch nor tagged."""
    metadata = bank.table().metadata
    kept = {ref.snapshot_id for ref in metadata.refs.values()}
    expire(bank, [one.snapshot_id for one in metadata.snapshots if one.snapshot_id not in kept])


def expire_as_pyiceberg_does(bank: Bank) -> None:
    """Forget every snapshot that PyIceberg's own maintenance may forget."""
    with bank.rival() as catalog:
        expiry = catalog.load_table(bank.identifier).maintenance.expire_snapshots()
        expiry._snapshot_ids_to_expire = set()  # 0.10 shares one set among all expiries of a process.
        expiry.older_than(datetime(2999, 1, 1, tzinfo=UTC)).commit()


def roll_back(bank: Bank, snapshot_id: int, branch: str = "main") -> None:
    """Set the branch back; the tags stay where they are."""
    commit(bank, set_ref(branch, snapshot_id))


def set_ref(name: str, snapshot_id: int, kind: Any = "branch") -> SetSnapshotRefUpdate:
    """Return the update that makes a branch or tag, or moves it."""
    return SetSnapshotRefUpdate(
        ref_name=name,
        type=kind,
        snapshot_id=snapshot_id,
        max_ref_age_ms=None,
        max_snapshot_age_ms=None,
        min_snapshots_to_keep=None,
    )


def metadata_bytes(table: Table) -> int:
    """Return the size of the table's metadata, without its list of older metadata files."""
    return len(table.metadata.model_copy(update={"metadata_log": []}).model_dump_json())
