"""The lineage of a table: the chain of parents from its current snapshot to its beginning."""

from __future__ import annotations

from collections.abc import Iterator

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from seriatim.commit import summary


def walk(metadata: TableMetadata, head_id: int | None) -> Iterator[Snapshot]:
    """Yield the snapshot `head_id`, its parent, and so on; ends where a parent is missing or the table began."""
    by_id = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    snapshot = by_id.get(head_id) if head_id is not None else None
    while snapshot is not None:
        yield snapshot
        parent_id = snapshot.parent_snapshot_id
        snapshot = by_id.get(parent_id) if parent_id is not None else None


def after(metadata: TableMetadata, base_id: int | None, head_id: int | None) -> list[Snapshot] | None:
    """Return the snapshots of the lineage of `head_id` that came after `base_id` (None: all of them), oldest first.

    None: the base is not in the lineage, or the lineage does not reach back to where that could be seen.
    """
    later: list[Snapshot] = []
    for snapshot in walk(metadata, head_id):
        if snapshot.snapshot_id == base_id:
            return later[::-1]
        later.append(snapshot)
    is_whole = base_id is None and (not later or is_beginning(later[-1]))
    return later[::-1] if is_whole else None


def is_beginning(snapshot: Snapshot) -> bool:
    """Tell whether nothing came before: expiry clears the parent of what it leaves, so a missing parent proves nothing.

    A commit of ours says what its base was. Of a foreign one only the first sequence number is proof, which format
    version 1 does not have.
    """
    if snapshot.parent_snapshot_id is not None:
        return False
    base = summary.base_snapshot_id(snapshot)
    return base is summary.EMPTY_TABLE if base is not None else snapshot.sequence_number == 1
