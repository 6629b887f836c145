"""What a Delta log says, as plain values (Delta protocol, "Actions")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class DeletionVector:
    """Where it stands which rows of a file are deleted (Delta protocol, "Deletion Vector Descriptor Schema")."""

    storage_type: str  # "u": by uuid, "p": by absolute path, "i": inline
    path_or_inline: str
    size_bytes: int
    cardinality: int  # rows deleted
    offset: int | None = None

    @property
    def unique_id(self) -> str:
        """Return what tells two deletion vectors of one file apart."""
        at = "" if self.offset is None else f"@{self.offset}"
        return f"{self.storage_type}{self.path_or_inline}{at}"


@dataclass(frozen=True, slots=True)
class AddFile:
    """A data file that is part of the table from this version on."""

    path: str  # absolute location, percent-decoded once
    partition_values: Mapping[str, str | None]  # by physical name; None and "" are both null
    size: int  # bytes
    data_change: bool
    modification_time_ms: int = 0
    stats: Mapping[str, Any] | None = None  # numRecords, minValues, maxValues, nullCount, tightBounds; physical names
    deletion_vector: DeletionVector | None = None

    @property
    def key(self) -> FileKey:
        """Return what identifies it among the table's files."""
        return self.path, self.deletion_vector.unique_id if self.deletion_vector else None


@dataclass(frozen=True, slots=True)
class RemoveFile:
    """A data file that is part of the table no more."""

    path: str  # as in `AddFile`
    data_change: bool
    deletion_vector: DeletionVector | None = None

    @property
    def key(self) -> FileKey:
        """Return what identifies it among the table's files."""
        return self.path, self.deletion_vector.unique_id if self.deletion_vector else None


FileKey = tuple[str, str | None]
"""Location, and the deletion vector's unique id: the primary key of a logical file."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The table's id, schema and configuration."""

    id: str
    schema: Mapping[str, Any]  # the schema's JSON: {"type": "struct", "fields": [...]}
    partition_columns: tuple[str, ...]  # logical names
    configuration: Mapping[str, str]
    name: str | None = None

    @property
    def column_mapping(self) -> str:
        """Return the mode of column mapping: `none`, `name` or `id`."""
        return self.configuration.get("delta.columnMapping.mode", "none")


@dataclass(frozen=True, slots=True)
class Protocol:
    """What a reader must understand."""

    min_reader_version: int
    min_writer_version: int
    reader_features: frozenset[str] = frozenset()  # named only where the reader version is 3
    writer_features: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Commit:
    """What one version changed."""

    version: int
    timestamp_ms: int  # in-commit timestamp where there is one, else commitInfo's, else the file's own
    operation: str | None  # None: the log does not say
    adds: tuple[AddFile, ...] = ()
    removes: tuple[RemoveFile, ...] = ()
    metadata: Metadata | None = None  # None: as before
    protocol: Protocol | None = None  # None: as before


@dataclass(frozen=True, slots=True)
class State:
    """The table at one version."""

    version: int
    timestamp_ms: int
    protocol: Protocol
    metadata: Metadata
    files: Mapping[FileKey, AddFile] = field(default_factory=dict)
