"""Builds the snapshots of a commit on a table handle and hands them to the gate."""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation

from seriatim.commit import private
from seriatim.commit.chain import Step
from seriatim.commit.live_entries import LiveEntries
from seriatim.commit.new_snapshot import write_snapshots
from seriatim.commit.staging import Staged


def submit(table: Table, staged: Staged, branch: str, now_ms: int, entries: LiveEntries | None = None) -> None:
    """Commit the staged files as one snapshot on `branch`; an empty change makes an empty snapshot."""
    submit_steps(table, [Step(_operation(staged), staged.added, staged.removed)], branch, now_ms, entries)


def submit_steps(
    table: Table, steps: Sequence[Step], branch: str, now_ms: int, entries: LiveEntries | None = None
) -> None:
    """Commit one snapshot for each step on `branch`, in their order and all in one catalog commit.

    `entries` is what is known of the table's manifests already, and takes in what comes to be known.
    """
    updates = write_snapshots(table, branch, steps, now_ms, entries)
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
