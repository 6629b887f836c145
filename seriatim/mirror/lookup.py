"""Which snapshot is which Delta version."""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot

from seriatim.commit.lineage import walk
from seriatim.mirror.words import Mirrored


def delta_version_of(table: Table, snapshot: Snapshot | int | None = None) -> int | None:
    """Return the Delta version that a snapshot is, by default the table's current one; None: it is of no mirror."""
    if snapshot is None:
        found = table.current_snapshot()
    else:
        found = table.snapshot_by_id(snapshot) if isinstance(snapshot, int) else snapshot
    said = Mirrored.of(found) if found is not None else None
    return said.version if said else None


def snapshot_of(table: Table, delta_version: int, branch: str = MAIN_BRANCH) -> Snapshot | None:
    """Return the snapshot of the branch that is a Delta version; None: it is not mirrored, or has been expired.

    A version that was gone from Delta's log when it was to be mirrored has no snapshot of its own.
    """
    head = table.metadata.snapshot_by_name(branch)
    for snapshot in walk(table.metadata, head.snapshot_id if head else None):
        if delta_version_of(table, snapshot) == delta_version:
            return snapshot
    return None
