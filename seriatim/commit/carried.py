"""Snapshots, and entries of logs, that go from one metadata file to the next as they were read.

A commit adds to the snapshots of a table, and to the logs of what was current, and changes nothing in them. Where a
long history is kept, most of a commit's time would go into making PyIceberg's models of all of it, and text of these
models, to write what was read; and of any, into what Python's collector of garbage does about so many objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Generic, TypeGuard, TypeVar, cast

from pydantic_core import from_json, to_json
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.snapshots import MetadataLogEntry, Operation, Snapshot, SnapshotLogEntry
from pyiceberg.typedef import IcebergBaseModel

M = TypeVar("M", bound=IcebergBaseModel)
Record = Mapping[str, Any]  # A JSON object.

_VERSION: Final = 2  # Of version 1 snapshots are written otherwise than they are read; 3 PyIceberg does not write yet.
_OPERATIONS: Final = {operation.value for operation in Operation}


class Carried(Generic[M]):
    """Stands in for a model of PyIceberg's, which it makes when something is asked that is not asked of each."""

    __slots__ = ("_model", "record")
    kind: ClassVar[type[IcebergBaseModel]]  # of which M is

    def __init__(self, record: Record) -> None:
        """Take a `record` of a metadata file for what it says."""
        self.record = record
        self._model: M | None = None  # None: not made yet

    def __getattr__(self, name: str) -> Any:
        """Answer as PyIceberg's model does."""
        if name in Carried.__slots__:
            raise AttributeError(name)  # Of a copy that is being made.
        return getattr(self.whole(), name)

    def __eq__(self, other: object) -> bool:
        """Be equal to the model that it stands for."""
        return self.whole() == (other.whole() if isinstance(other, Carried) else other)

    def __hash__(self) -> int:
        """Be hashed as the model that it stands for."""
        return hash(self.whole())

    def __repr__(self) -> str:
        """Show the model that it stands for."""
        return repr(self.whole())

    def whole(self) -> M:
        """Return the model that it stands for."""
        if self._model is None:
            self._model = cast(M, self.kind.model_validate(self.record))
        return self._model


class CarriedSnapshot(Carried[Snapshot]):
    """Stands in for a snapshot, of which walks ask no more than this."""

    __slots__ = ("parent_snapshot_id", "sequence_number", "snapshot_id", "timestamp_ms")
    kind = Snapshot

    def __init__(self, record: Record) -> None:
        """Take a `record` of a metadata file for what it says."""
        super().__init__(record)
        self.snapshot_id: int = record["snapshot-id"]
        self.parent_snapshot_id: int | None = record.get("parent-snapshot-id")
        self.sequence_number: int = record["sequence-number"]
        self.timestamp_ms: int = record["timestamp-ms"]

    @staticmethod
    def is_plain(record: object) -> TypeGuard[Record]:
        """Tell whether PyIceberg takes it as it is: it has what a snapshot needs, and nothing must be converted.

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

    def word(self, key: str) -> str | None:
        """Return one word of its summary; None: it does not have it."""
        word: str | None = self.record["summary"].get(key)
        return word


class CarriedSnapshotLogEntry(Carried[SnapshotLogEntry]):
    """Stands in for what the log says of one time when a snapshot became the current one."""

    __slots__ = ("snapshot_id",)
    kind = SnapshotLogEntry

    def __init__(self, record: Record) -> None:
        """Take a `record` of a metadata file for what it says."""
        super().__init__(record)
        self.snapshot_id: int = record["snapshot-id"]  # Asked of each when snapshots expire.

    @staticmethod
    def is_plain(record: object) -> TypeGuard[Record]:
        """Tell whether PyIceberg takes it as it is."""
        return (
            isinstance(record, dict)
            and type(record.get("snapshot-id")) is int
            and type(record.get("timestamp-ms")) is int
        )


class CarriedMetadataLogEntry(Carried[MetadataLogEntry]):
    """Stands in for what the log says of one earlier metadata file."""

    __slots__ = ("metadata_file",)
    kind = MetadataLogEntry

    def __init__(self, record: Record) -> None:
        """Take a `record` of a metadata file for what it says."""
        super().__init__(record)
        self.metadata_file: str = record["metadata-file"]  # Asked of each where old files are deleted.

    @staticmethod
    def is_plain(record: object) -> TypeGuard[Record]:
        """Tell whether PyIceberg takes it as it is."""
        return (
            isinstance(record, dict)
            and type(record.get("metadata-file")) is str
            and type(record.get("timestamp-ms")) is int
        )


_PARTS: Final = (
    ("snapshots", "snapshots", CarriedSnapshot),
    ("snapshot-log", "snapshot_log", CarriedSnapshotLogEntry),
    ("metadata-log", "metadata_log", CarriedMetadataLogEntry),
)


def read(text: bytes) -> TableMetadata:
    """Return what a metadata file says, as PyIceberg does, with parts that are carried where they can be.

    Raises:
        ValueError: it is no JSON, or no metadata of a table.
    """
    file = from_json(text)  # In two steps: PyIceberg's models take what is parsed sooner than they take the text.
    if not isinstance(file, dict) or file.get("format-version") != _VERSION:
        return TableMetadataUtil.parse_obj(file)
    parts = [(key, field, kind) for key, field, kind in _PARTS if isinstance(file.get(key), list)]
    metadata = TableMetadataUtil.parse_obj({**file, **{key: [] for key, _, _ in parts}})
    return metadata.model_copy(
        update={
            field: [kind(each) if kind.is_plain(each) else kind.kind.model_validate(each) for each in file[key]]
            for key, field, kind in parts
        }
    )


def whole(metadata: TableMetadata) -> TableMetadata:
    """Return the metadata with PyIceberg's own models: for code that is not ours."""
    return metadata.model_copy(
        update={
            field: [each.whole() if isinstance(each, Carried) else each for each in getattr(metadata, field)]
            for _, field, _ in _PARTS
        }
    )


def text_of(metadata: TableMetadata, *, exclude_none: bool) -> bytes:
    """Return the text of a metadata file, as PyIceberg writes it."""
    if metadata.format_version != _VERSION:
        return metadata.model_dump_json(exclude_none=exclude_none).encode()
    rest = metadata.model_copy(update={field: [] for _, field, _ in _PARTS})
    file = rest.model_dump(mode="json", exclude_none=exclude_none)
    for key, field, _ in _PARTS:
        file[key] = [
            each.record if isinstance(each, Carried) else each.model_dump(mode="json", exclude_none=exclude_none)
            for each in getattr(metadata, field)
        ]
    return to_json(file)
