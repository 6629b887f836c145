"""What a commit says of itself in the summary of its snapshots.

The summary follows a rollback, which table properties do not. A commit may consist of several snapshots; each carries
the same words, and the commit id tells that they are one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum
from typing import Final, Literal

from pyiceberg.table.snapshots import Snapshot

from seriatim.commit.pin import Pin
from seriatim.commit.writer import Writer

COMMIT_ID: Final = "seriatim.commit-id"
OPERATION_IDS: Final = "seriatim.operation-ids"  # a JSON array, in the order of application
BASE_SNAPSHOT_ID: Final = "seriatim.base-snapshot-id"  # "none": the table was empty
BASE_SEQUENCE_NUMBER: Final = "seriatim.base-sequence-number"
RUN_ID: Final = "seriatim.run-id"


class _Empty(Enum):
    EMPTY_TABLE = "none"


EMPTY_TABLE: Final = _Empty.EMPTY_TABLE


def words(commit_id: str, operation_ids: Sequence[str], pin: Pin, writer: Writer) -> dict[str, str]:
    """Return the summary entries of a commit."""
    entries = {
        COMMIT_ID: commit_id,
        BASE_SNAPSHOT_ID: EMPTY_TABLE.value if pin.snapshot_id is None else str(pin.snapshot_id),
        BASE_SEQUENCE_NUMBER: str(pin.sequence_number),
    }
    if operation_ids:
        entries[OPERATION_IDS] = json.dumps(list(operation_ids))
    if writer.run_id is not None:
        entries[RUN_ID] = writer.run_id
    return entries


def operation_ids(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the operations that the snapshot applied, in order; none if it is not a commit of ours."""
    text = _get(snapshot, OPERATION_IDS)
    return tuple(json.loads(text)) if text is not None else ()


def run_id(snapshot: Snapshot) -> str | None:
    """Return the run that made the snapshot; None: it does not say."""
    return _get(snapshot, RUN_ID)


def base_snapshot_id(snapshot: Snapshot) -> int | Literal[_Empty.EMPTY_TABLE] | None:
    """Return the base that the commit recorded; None: it is not a commit of ours."""
    text = _get(snapshot, BASE_SNAPSHOT_ID)
    if text is None:
        return None
    return EMPTY_TABLE if text == EMPTY_TABLE.value else int(text)


def _get(snapshot: Snapshot, key: str) -> str | None:
    return snapshot.summary.additional_properties.get(key) if snapshot.summary else None
