"""Builds the snapshot of a staged change on a table handle and hands it to the gate."""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation

from seriatim.commit import private
from seriatim.commit.new_snapshot import write_snapshot
from seriatim.commit.staging import Staged


def submit(table: Table, staged: Staged, branch: str, now_ms: int) -> None:
    """Commit the staged files as one snapshot on `branch`; an empty change makes an empty snapshot."""
    updates = write_snapshot(
        table, branch, added=staged.added, removed=staged.removed, operation=_operation(staged), now_ms=now_ms
    )
    before = table.metadata
    landed = table.catalog.commit_table(table, (), updates)  # The gate adds what must be so.
    table.metadata, table.metadata_location = landed.metadata, landed.metadata_location
    private.delete_old_metadata(table.catalog, table.io, before, landed.metadata)


def _operation(staged: Staged) -> Operation:
    if staged.is_rewritten:
        return Operation.REPLACE
    if not staged.removed:
        return Operation.APPEND
    return Operation.OVERWRITE if staged.added else Operation.DELETE
