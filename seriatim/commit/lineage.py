"""The lineage of a table: the chain of parents from its current snapshot to its beginning."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from seriatim.commit import summary
from seriatim.errors import HistoryCutError


def walk(metadata: TableMetadata) -> Iterator[Snapshot]:
    """Yield the current snapshot, its parent, and so on; ends where a parent is missing or the table began."""
    by_id = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    snapshot = metadata.current_snapshot()
    while snapshot is not None:
        yield snapshot
        parent_id = snapshot.parent_snapshot_id
        snapshot = by_id.get(parent_id) if parent_id is not None else None


def first_after(metadata: TableMetadata, snapshot_id: int | None) -> Snapshot | None:
    """Return the snapshot of the lineage that came right after `snapshot_id` (None: the first of the table).

    None: nothing came after it, or it is not in the lineage (any more).
    """
    later: Snapshot | None = None
    for snapshot in walk(metadata):
        if snapshot.snapshot_id == snapshot_id:
            return later
        later = snapshot
    return later if snapshot_id is None else None


def landed_operations(table: str, metadata: TableMetadata, wanted: Collection[str]) -> dict[str, int]:
    """Return which of the `wanted` operation ids the lineage holds, each with the snapshot that applied it.

    Raises:
        HistoryCutError: some are not there, and the lineage does not reach back to the table's beginning.
    """
    missing = set(wanted)
    found: dict[str, int] = {}
    oldest: Snapshot | None = None
    for snapshot in walk(metadata):
        if not missing:
            return found
        oldest = snapshot
        for operation_id in missing.intersection(summary.operation_ids(snapshot)):
            found[operation_id] = snapshot.snapshot_id
            missing.discard(operation_id)
    if missing and oldest is not None and not _is_beginning(oldest):
        raise HistoryCutError(table, oldest_snapshot_id=oldest.snapshot_id, operation_ids=sorted(missing))
    return found


def _is_beginning(snapshot: Snapshot) -> bool:
    """Whether nothing came before: expiry clears the parent of what it leaves, so a missing parent proves nothing.

    A commit of ours says what its base was. Of a foreign one only the first sequence number is proof, which format
    version 1 does not have.
    """
    if snapshot.parent_snapshot_id is not None:
        return False
    base = summary.base_snapshot_id(snapshot)
    return base is summary.EMPTY_TABLE if base is not None else snapshot.sequence_number == 1
