"""What the summary of a mirror's snapshot says of the Delta version that it is.

| key | value |
| --- | --- |
| `delta-version` | the version |
| `delta-timestamp` | when Delta says it was committed, in ms since 1970-01-01 UTC |
| `delta-table-id` | the id of the Delta table |
| `delta-operation` | Delta's word for what was done; absent: the log does not say |
| `delta-gap-from` | only where versions were gone from the log: the first of those that this one snapshot stands for |

The state of a mirror stands here alone: a rollback takes it back together with the rows, as no table property would be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyiceberg.table.snapshots import Snapshot

from seriatim.commit.mirrors import GAP_FROM, TABLE_ID, VERSION

TIMESTAMP: Final = "delta-timestamp"
OPERATION: Final = "delta-operation"


@dataclass(frozen=True, slots=True)
class Mirrored:
    """The Delta version that a snapshot is."""

    version: int
    timestamp_ms: int
    table_id: str
    operation: str | None  # None: the log does not say
    gap_from: int | None = None  # None: the version alone; else the first of those that the snapshot stands for

    @classmethod
    def of(cls, snapshot: Snapshot) -> Mirrored | None:
        """Return what the snapshot says; None: it is not of a mirror."""
        said = snapshot.summary.additional_properties if snapshot.summary else {}
        try:
            return cls(
                version=int(said[VERSION]),
                timestamp_ms=int(said[TIMESTAMP]),
                table_id=said[TABLE_ID],
                operation=said.get(OPERATION),
                gap_from=int(said[GAP_FROM]) if GAP_FROM in said else None,
            )
        except (KeyError, ValueError):
            return None

    def words(self) -> dict[str, str]:
        """Return it as the words of a summary."""
        words = {VERSION: str(self.version), TIMESTAMP: str(self.timestamp_ms), TABLE_ID: self.table_id}
        if self.operation is not None:
            words[OPERATION] = self.operation
        if self.gap_from is not None:
            words[GAP_FROM] = str(self.gap_from)
        return words
