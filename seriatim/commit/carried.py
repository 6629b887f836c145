"""Snapshots that go from one metadata file to the next as they were read.

A commit adds to the snapshots of a table, and changes none of them. Where a long history is kept, most of a commit's
time would go into making PyIceberg's models of all of them, and text of these models, to write what was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from pydantic_core import from_json, to_json
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.snapshots import Operation, Snapshot

Record = Mapping[str, Any]  # A JSON object.

_SNAPSHOTS: Final = "snapshots"
_VERSION: Final = 2  # Of version 1 snapshots are written otherwise than they are read; 3 PyIceberg does not write yet.
_OPERATIONS: Final = {operation.value for operation in Operation}


class CarriedSnapshot:
    """Stands in for PyIceberg's `Snapshot`, which it makes when something is asked that walks do not ask of each."""

    __slots__ = ("_snapshot", "parent_snapshot_id", "record", "sequence_number", "snapshot_id", "timestamp_ms")

    def __init__(self, record: Record) -> None:
        """Take a `record` of a metadata file for what it says."""
        self.record = record
        self.snapshot_id: int = record["snapshot-id"]
        self.parent_snapshot_id: int | None = record.get("parent-snapshot-id")
        self.sequence_number: int = record["sequence-number"]
        self.timestamp_ms: int = record["timestamp-ms"]
        self._snapshot: Snapshot | None = None  # None: not made yet

    def __getattr__(self, name: str) -> Any:
        """Answer as PyIceberg's snapshot does."""
        if name in CarriedSnapshot.__slots__:
            raise AttributeError(name)  # Of a copy that is being made.
        return getattr(self.whole(), name)

    def __eq__(self, other: object) -> bool:
        """Be equal to the snapshot that it stands for."""
        return self.whole() == (other.whole() if isinstance(other, CarriedSnapshot) else other)

    __hash__ = None  # type: ignore[assignment]  # As PyIceberg's, whose summary can be changed.

    def __repr__(self) -> str:
        """Show the snapshot that it stands for."""
        return repr(self.whole())

    def word(self, key: str) -> str | None:
        """Return one word of its summary; None: it does not have it."""
        word: str | None = self.record["summary"].get(key)
        return word

    def whole(self) -> Snapshot:
        """Return the snapshot that it stands for."""
        if self._snapshot is None:
            self._snapshot = Snapshot.model_validate(self.record)
        return self._snapshot


def read(text: bytes) -> TableMetadata:
    """Return what a metadata file says, as PyIceberg does, with snapshots that are carried where they can be.

    Raises:
        ValueError: it is no JSON, or no metadata of a table.
    """
    file = from_json(text)  # In two steps: PyIceberg's models take what is parsed sooner than they take the text.
    if not _has_carried(file):
        return TableMetadataUtil.parse_obj(file)
    metadata = TableMetadataUtil.parse_obj({**file, _SNAPSHOTS: []})
    return metadata.model_copy(update={_SNAPSHOTS: [_snapshot(record) for record in file[_SNAPSHOTS]]})


def whole(metadata: TableMetadata) -> TableMetadata:
    """Return the metadata with PyIceberg's own snapshots: for code that is not ours."""
    snapshots = [each.whole() if isinstance(each, CarriedSnapshot) else each for each in metadata.snapshots]
    return metadata.model_copy(update={_SNAPSHOTS: snapshots})


def text_of(metadata: TableMetadata, *, exclude_none: bool) -> bytes:
    """Return the text of a metadata file, as PyIceberg writes it."""
    if metadata.format_version != _VERSION:
        return metadata.model_dump_json(exclude_none=exclude_none).encode()
    file = metadata.model_copy(update={_SNAPSHOTS: []}).model_dump(mode="json", exclude_none=exclude_none)
    file[_SNAPSHOTS] = [
        snapshot.record
        if isinstance(snapshot, CarriedSnapshot)
        else snapshot.model_dump(mode="json", exclude_none=exclude_none)
        for snapshot in metadata.snapshots
    ]
    return to_json(file)


def _has_carried(file: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(file, dict) and file.get("format-version") == _VERSION and isinstance(file.get(_SNAPSHOTS), list)


def _snapshot(record: object) -> CarriedSnapshot | Snapshot:
    return CarriedSnapshot(record) if _is_plain(record) else Snapshot.model_validate(record)


def _is_plain(record: object) -> TypeGuard[Record]:
    """Whether PyIceberg takes it as it is: it has what a snapshot needs, and nothing in it must be converted.

    What a newer engine says beyond that is carried, too, where PyIceberg would leave it out.
    """
    return (
        isinstance(record, dict)
        and type(record.get("snapshot-id")) is int
        and type(record.get("timestamp-ms")) is int
        and type(record.get("manifest-list")) is str
        and type(record.get("sequence-number")) is int
        and type(record.get("parent-snapshot-id", 0)) is int
        and type(record.get("schema-id", 0)) is int
        and isinstance(summary := record.get("summary"), dict)
        and summary.get("operation") in _OPERATIONS
    )
