"""Who moved a table on."""

from __future__ import annotations

from pyiceberg.table.metadata import TableMetadata

from seriatim.commit import summary
from seriatim.commit.lineage import after
from seriatim.commit.receipt import Winner


def winner_between(metadata: TableMetadata, base_id: int | None, head_id: int | None) -> Winner | None:
    """Return the first commit after a base on the way to a head; None: there is none (a rollback, a new schema)."""
    later = after(metadata, base_id, head_id)
    if not later:
        return None
    return Winner(later[0].snapshot_id, summary.operation_ids(later[0]), summary.run_id(later[0]))
