"""What became of a commit whose reply was not a plain yes: a question to the table, never to the exception."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from seriatim.commit.lineage import after
from seriatim.commit.pin import Pin


class Outcome(Enum):
    """What the table tells of a submitted commit."""

    LANDED = "it is in the table"
    DEAD = "it is not in the table and never will be: its files may go"
    OPEN = "it is not in the table, but may land yet if the table is (again) at its base"
    HIDDEN = "it may have landed and been expired since"


def look_up(metadata: TableMetadata, pin: Pin, staged: Sequence[Snapshot]) -> Outcome:
    """Tell what became of the commit of the `staged` snapshots, which was pinned to `pin`.

    Sequence numbers decide (Iceberg spec, format version 2: each snapshot has its own, larger than all before). Until
    the table has used a number that was staged, the commit has not landed. Once another snapshot has one, the commit
    never can, not even if the table is rolled back to the base. Format version 1 has no such numbers: there a commit
    that is not in the lineage stays open for ever, though one pinned to a base that was passed can only land if the
    table is rolled back, and then nothing that came after the base is there any more.
    """
    ids = {snapshot.snapshot_id for snapshot in staged}
    if any(snapshot.snapshot_id in ids for snapshot in metadata.snapshots):
        return Outcome.LANDED
    if metadata.format_version == 1:
        return Outcome.OPEN if _passes(metadata, pin) else Outcome.HIDDEN
    numbers = {snapshot.sequence_number or 0 for snapshot in staged}
    if min(numbers) > metadata.last_sequence_number:
        return Outcome.OPEN
    if any(snapshot.sequence_number in numbers for snapshot in metadata.snapshots):
        return Outcome.DEAD
    return Outcome.HIDDEN


def _passes(metadata: TableMetadata, pin: Pin) -> bool:
    """Whether the branch's lineage can be followed back to the base."""
    head = metadata.snapshot_by_name(pin.branch)
    return after(metadata, pin.snapshot_id, head.snapshot_id if head else None) is not None
