"""The order in which operations landed, from the Iceberg metadata file alone: it is JSON, and is read as JSON.

A snapshot of ours carries in its summary the commit that it belongs to and the operation ids of that commit. The
parents of the current snapshot, back to the table's first one, are what happened; their order is when.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oracle.bank import Operation
from oracle.errors import DoubleApplyError, LineageError, UnknownOperationError

_COMMIT_ID = "seriatim.commit-id"
_OPERATION_IDS = "seriatim.operation-ids"
_OPENINGS = "bank/accounts@"
_BEGINNING = -1  # what a stream's first step goes on from


@dataclass(frozen=True, slots=True)
class _Step:
    """What one snapshot of the lineage says about itself."""

    snapshot_id: int
    commit: str
    operation_ids: tuple[str, ...]


def landed_operation_ids(metadata_file: str | Path) -> tuple[str, ...]:
    """Read the ids of the operations on the main branch, in the order in which they landed.

    Several snapshots of one commit say the same ids; they count once.

    Raises:
        LineageError: the history is not whole, or contradicts itself.
        DoubleApplyError: an id was applied by two commits, or twice by one; or a commit landed twice.
    """
    place = str(metadata_file).removeprefix("file://")
    steps = [_step(snapshot, place) for snapshot in _lineage(_read(Path(place)), place)]
    landed: dict[str, str] = {}
    last: _Step | None = None  # None: no snapshot looked at yet
    commits: set[str] = set()
    for step in steps:
        if last is not None and step.commit == last.commit:
            if step.operation_ids != last.operation_ids:
                raise LineageError(place, f"the snapshots of commit {step.commit} name different operations")
            continue
        if step.commit in commits:
            raise DoubleApplyError(f"commit {step.commit}", where=f"again in snapshot {step.snapshot_id} of {place}")
        commits.add(step.commit)
        last = step
        for operation_id in step.operation_ids:
            if operation_id in landed:
                where = f"by commit {landed[operation_id]} and by commit {step.commit}"
                raise DoubleApplyError(operation_id, where=where)
            landed[operation_id] = step.commit
    return tuple(landed)


def bank_operations(operation_ids: Iterable[str]) -> tuple[Operation, ...]:
    """Read the bank's operation ids, each of which goes on where the one of its kind before it has ended.

    Opening accounts posts nothing and is left out.

    Raises:
        UnknownOperationError: an id is neither a posting nor an opening.
        DoubleApplyError: a posting ends before the one of its kind that landed before it.
    """
    reached: dict[str, int] = {}
    operations = []
    for operation_id in operation_ids:
        if operation_id.startswith(_OPENINGS):
            continue
        kind, upto = _step_of(operation_id)
        after = reached.get(kind, _BEGINNING)
        if upto <= after:
            raise DoubleApplyError(operation_id, where=f"after bank/{kind}@{after} had landed")
        operations.append(Operation(kind, after, upto))
        reached[kind] = upto
    return tuple(operations)


def _step_of(operation_id: str) -> tuple[str, int]:
    """Read `bank/<kind>@<version>`."""
    asset, _, upto = operation_id.rpartition("@")
    folder, _, kind = asset.partition("/")
    if folder != "bank" or not kind or not (upto.isascii() and upto.isdigit()):
        raise UnknownOperationError(operation_id)
    return kind, int(upto)


def _read(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    metadata: dict[str, Any] = json.loads(content)
    return metadata


def _lineage(metadata: dict[str, Any], place: str) -> list[dict[str, Any]]:
    """List the snapshots of the main branch, oldest first."""
    snapshots = {snapshot["snapshot-id"]: snapshot for snapshot in metadata.get("snapshots") or ()}
    chain: list[dict[str, Any]] = []
    following = _head(metadata)
    while following is not None:
        if following not in snapshots:
            raise LineageError(place, f"snapshot {following} is no longer there: the history was cut")
        snapshot = snapshots.pop(following)  # Taken out, so that a circle ends as a cut.
        chain.append(snapshot)
        following = snapshot.get("parent-snapshot-id")
    # Expiry may leave the oldest snapshot without a parent; but only a table's first commit has sequence number 1.
    if chain and chain[-1].get("sequence-number", 1) > 1:
        raise LineageError(place, f"snapshot {chain[-1]['snapshot-id']} is not the first one: the history was cut")
    return chain[::-1]


def _head(metadata: dict[str, Any]) -> int | None:
    """Find the snapshot that the main branch is at (None: the table is empty)."""
    main = (metadata.get("refs") or {}).get("main")
    head: int | None = main["snapshot-id"] if main else metadata.get("current-snapshot-id")
    return None if head == -1 else head  # Older writers say -1 for none.


def _step(snapshot: dict[str, Any], place: str) -> _Step:
    snapshot_id, summary = snapshot["snapshot-id"], snapshot.get("summary") or {}
    operation_ids = json.loads(summary.get(_OPERATION_IDS, "[]"))
    if not isinstance(operation_ids, list) or not all(isinstance(each, str) for each in operation_ids):
        raise LineageError(place, f"snapshot {snapshot_id}: {_OPERATION_IDS} is not a list of names")
    # A snapshot that names no commit is one by itself.
    return _Step(snapshot_id, summary.get(_COMMIT_ID, f"of snapshot {snapshot_id}"), tuple(operation_ids))
