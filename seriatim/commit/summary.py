"""What a commit says of itself in the summary of its snapshots.

The summary follows a rollback, which table properties do not. A commit may consist of several snapshots; each carries
the same words, and the commit id tells that they are one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, Literal

from pyiceberg.expressions import BooleanExpression
from pyiceberg.table.snapshots import Snapshot

from seriatim.commit.carried import CarriedSnapshot
from seriatim.commit.pin import Pin
from seriatim.commit.reads import encoded
from seriatim.commit.writer import Writer
from seriatim.version import VERSION as VERSION_OF_SERIATIM

COMMIT_ID: Final = "seriatim.commit-id"
OPERATION_IDS: Final = "seriatim.operation-ids"  # a JSON array, in the order of application
BASE_SNAPSHOT_ID: Final = "seriatim.base-snapshot-id"  # "none": the table was empty
BASE_SEQUENCE_NUMBER: Final = "seriatim.base-sequence-number"
COMPUTED_ON: Final = "seriatim.computed-on-snapshot-id"  # only where it is not the base: the change was rebased
READS: Final = "seriatim.reads"  # what the change depends on, for people, cut off at a bound
READS_JSON: Final = "seriatim.reads-json"  # the same for machines (reads.py)
ROWS_ADDED: Final = "seriatim.rows-added"  # rows of the change; the engine's added-records count rows carried over too
ROWS_REMOVED: Final = "seriatim.rows-removed"
SUMS: Final = "seriatim.sums"  # JSON: by how much the change says it moves the totals of columns
ATTEMPTS: Final = "seriatim.attempts"  # which attempt of its call it is, counted from 1
HOST: Final = "seriatim.host"
VERSION: Final = "seriatim.version"  # of Seriatim
RUN_ID: Final = "seriatim.run-id"
PART: Final = "seriatim.part"  # "1/2": the first of two snapshots; only where there are several
RESERVED: Final = "seriatim."  # what every key of ours begins with


_READS_MAX: Final = 500


class _Empty(Enum):
    EMPTY_TABLE = "none"


EMPTY_TABLE: Final = _Empty.EMPTY_TABLE


def words(commit_id: str, pending: Sequence[str], pin: Pin, attempt: int, writer: Writer) -> dict[str, str]:
    """Return what every commit says: its id, the operations it applies, its base, its attempt and its writer."""
    entries = {
        COMMIT_ID: commit_id,
        BASE_SNAPSHOT_ID: EMPTY_TABLE.value if pin.snapshot_id is None else str(pin.snapshot_id),
        BASE_SEQUENCE_NUMBER: str(pin.sequence_number),
        ATTEMPTS: str(attempt),
        HOST: writer.host,
        VERSION: VERSION_OF_SERIATIM,
    }
    if pending:
        entries[OPERATION_IDS] = json.dumps(list(pending))
    if writer.run_id is not None:
        entries[RUN_ID] = writer.run_id
    return entries


def words_of_change(
    reads: Sequence[BooleanExpression], *, rows_added: int, rows_removed: int, sums: Mapping[str, int]
) -> dict[str, str]:
    """Return what a commit says of its change: what that depends on, its rows, and by how much it moves totals."""
    entries = {
        READS: described(reads),
        READS_JSON: encoded(reads),
        ROWS_ADDED: str(rows_added),
        ROWS_REMOVED: str(rows_removed),
    }
    return {**entries, SUMS: json.dumps(sums, sort_keys=True)} if sums else entries


def described(reads: Sequence[BooleanExpression]) -> str:
    """Return what a change depends on, in words, cut off at a bound."""
    text = " or ".join(dict.fromkeys(str(read) for read in reads)) or "nothing"
    return text if len(text) <= _READS_MAX else text[: _READS_MAX - 3] + "..."


def operation_ids(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the operations that the snapshot applied, in order; none if it is not a commit of ours."""
    text = word(snapshot, OPERATION_IDS)
    return tuple(json.loads(text)) if text is not None else ()


def is_last_part(snapshot: Snapshot) -> bool:
    """Tell whether everything that its commit did is there once the snapshot is."""
    number, _, count = (word(snapshot, PART) or "1/1").partition("/")
    return number == count


def run_id(snapshot: Snapshot) -> str | None:
    """Return the run that made the snapshot; None: it does not say."""
    return word(snapshot, RUN_ID)


def base_snapshot_id(snapshot: Snapshot) -> int | Literal[_Empty.EMPTY_TABLE] | None:
    """Return the base that the commit recorded; None: it is not a commit of ours."""
    text = word(snapshot, BASE_SNAPSHOT_ID)
    if text is None:
        return None
    return EMPTY_TABLE if text == EMPTY_TABLE.value else int(text)


def word(snapshot: Snapshot, key: str) -> str | None:
    """Return one word of the snapshot's summary; None: it does not have it."""
    if isinstance(snapshot, CarriedSnapshot):
        return snapshot.word(key)
    return snapshot.summary.additional_properties.get(key) if snapshot.summary else None
