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
    ABSENT = "it has not landed, as far as the ledger's tag tells; its files stay"
    OPEN = "it is not in the table, but may land yet if the table is (again) at its base"
    PASSED = "it is not in the table, and could land only if all that came after its base were taken back"
    HIDDEN = "it may have landed and been expired since"


def look_up(metadata: TableMetadata, pin: Pin, staged: Sequence[Snapshot], tag: str | None = None) -> Outcome:
    """Tell what became of the commit of the `staged` snapshots, which was pinned to `pin` and would have moved `tag`.

    Sequence numbers decide (Iceberg spec, format version 2: each snapshot has its own, larger than all before). Until
    the table has used a number that was staged, the commit has not landed. Once another snapshot has one, the commit
    never can, not even if the table is rolled back to the base. Nothing of the kind closes format version 1, which has
    no such numbers, nor a branch that had no snapshot: catalogs check the number of no snapshot that has no parent, and
    another branch may have used it. There a commit that is not in the lineage is never dead; once its base was passed
    it can only land if the table is set back, and then nothing that came after the base is there any more.

    Where the snapshots that would tell were expired, the ledger's tag does: a commit that lands moves it, no expiry
    takes the snapshot that it is on, and only a later commit of ours moves it on. A tag that is not there at all proves
    nothing: somebody may have removed it. None: the commit would have moved no tag.
    """
    ids = {snapshot.snapshot_id for snapshot in staged}
    if any(snapshot.snapshot_id in ids for snapshot in metadata.snapshots):
        return Outcome.LANDED
    if metadata.format_version == 1 or pin.snapshot_id is None:
        head = metadata.snapshot_by_name(pin.branch)
        if (head.snapshot_id if head else None) == pin.snapshot_id:
            return Outcome.OPEN
        return Outcome.PASSED if _passes(metadata, pin) else _hidden(metadata, staged, tag)
    numbers = {snapshot.sequence_number or 0 for snapshot in staged}
    if min(numbers) > metadata.last_sequence_number:
        return Outcome.OPEN
    if any(snapshot.sequence_number in numbers for snapshot in metadata.snapshots):
        return Outcome.DEAD
    return _hidden(metadata, staged, tag)


def _hidden(metadata: TableMetadata, staged: Sequence[Snapshot], tag: str | None) -> Outcome:
    """Tell from the tag what the snapshots that are left do not."""
    ref = metadata.refs.get(tag) if tag is not None else None
    tagged = metadata.snapshot_by_id(ref.snapshot_id) if ref is not None else None
    first = min(snapshot.sequence_number or 0 for snapshot in staged)
    is_before = tagged is not None and (tagged.sequence_number or 0) < first
    return Outcome.ABSENT if is_before else Outcome.HIDDEN


def _passes(metadata: TableMetadata, pin: Pin) -> bool:
    """Whether the branch's lineage can be followed back to the base."""
    head = metadata.snapshot_by_name(pin.branch)
    return after(metadata, pin.snapshot_id, head.snapshot_id if head else None) is not None
