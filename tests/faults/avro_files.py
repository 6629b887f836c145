"""Reads what a table's snapshots consist of, by the Iceberg specification and without PyIceberg: JSON, and Avro."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import fastavro

Fields = Mapping[str, Any]  # One Avro or JSON record, by the names of the specification.


class Status(IntEnum):
    """What a manifest says of a file."""

    EXISTING = 0
    ADDED = 1
    DELETED = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """One file in a manifest, with the numbers that it inherits from its manifest."""

    status: Status
    snapshot_id: int
    sequence_number: int
    file_sequence_number: int
    written: Fields  # as it is in the file, with nothing inherited
    file: Fields

    @property
    def path(self) -> str:
        """Where the file is."""
        return str(self.file["file_path"])

    @property
    def is_live(self) -> bool:
        """Whether the file is there."""
        return self.status is not Status.DELETED


@dataclass(frozen=True, slots=True)
class Manifest:
    """One manifest, and what the manifest list says of it."""

    listed: Fields
    header: Mapping[str, str]
    field_ids: frozenset[int]
    partition_ids: tuple[int, ...]
    entries: tuple[Entry, ...]

    @property
    def path(self) -> str:
        """Where the manifest is."""
        return str(self.listed["manifest_path"])

    @property
    def live(self) -> list[Entry]:
        """The entries of files that are there."""
        return [entry for entry in self.entries if entry.is_live]

    @property
    def deleted(self) -> list[Entry]:
        """The entries of files that are there no more."""
        return [entry for entry in self.entries if not entry.is_live]


@dataclass(frozen=True, slots=True)
class WrittenSnapshot:
    """A snapshot as the metadata has it, with its manifests."""

    fields: Fields
    header: Mapping[str, str]  # of the manifest list
    manifests: tuple[Manifest, ...]

    @property
    def id(self) -> int:
        """Its id."""
        return int(self.fields["snapshot-id"])

    @property
    def summary(self) -> dict[str, str]:
        """What it says of itself."""
        return dict(self.fields["summary"])

    @property
    def live(self) -> dict[str, Entry]:
        """The files that are there, by path."""
        return {entry.path: entry for manifest in self.manifests for entry in manifest.live}


@dataclass(frozen=True, slots=True)
class Written:
    """A table as its metadata file has it."""

    fields: Fields

    @classmethod
    def at(cls, metadata_location: str) -> Written:
        """Read the metadata file there."""
        return cls(json.loads(path_of(metadata_location).read_text(encoding="utf-8")))

    @property
    def snapshots(self) -> dict[int, Fields]:
        """What the metadata says of each snapshot, by its id."""
        return {each["snapshot-id"]: each for each in self.fields.get("snapshots", [])}

    @property
    def head_id(self) -> int | None:
        """The current snapshot (None: there is none)."""
        found = self.fields.get("current-snapshot-id")
        return None if found in (None, -1) else int(found)

    def snapshot(self, snapshot_id: int) -> WrittenSnapshot:
        """Read a snapshot, its manifest list and its manifests."""
        fields = self.snapshots[snapshot_id]
        records, header, _ = _read(fields["manifest-list"])
        return WrittenSnapshot(fields, header, tuple(_manifest(record) for record in records))

    def head(self) -> WrittenSnapshot:
        """Read the current snapshot."""
        assert self.head_id is not None
        return self.snapshot(self.head_id)


def path_of(location: str) -> Path:
    """Return the path of a `file:` location. PyIceberg means it as it stands: `%2F` is part of a folder's name."""
    return Path(urlparse(location).path)


def as_mapping(pairs: list[dict[str, Any]] | None) -> dict[int, Any]:
    """Return a map whose keys are no strings, which Avro writes as a list of pairs."""
    return {pair["key"]: pair["value"] for pair in pairs or []}


def _manifest(listed: Fields) -> Manifest:
    records, header, schema = _read(listed["manifest_path"])
    partition = _field(_field(schema, "data_file")["type"], "partition")["type"]
    return Manifest(
        listed=listed,
        header=header,
        field_ids=frozenset(_ids(schema)),
        partition_ids=tuple(field["field-id"] for field in partition["fields"]),
        entries=tuple(_entry(record, listed) for record in records),
    )


def _entry(record: Fields, listed: Fields) -> Entry:
    """Let an entry inherit (specification, "Sequence Number Inheritance")."""
    number = listed.get("sequence_number", 0)
    own, of_file = record.get("sequence_number"), record.get("file_sequence_number")
    return Entry(
        status=Status(record["status"]),
        snapshot_id=record["snapshot_id"] if record["snapshot_id"] is not None else listed["added_snapshot_id"],
        sequence_number=number if own is None else own,
        file_sequence_number=number if of_file is None else of_file,
        written=record,
        file=record["data_file"],
    )


def _read(location: str) -> tuple[list[dict[str, Any]], dict[str, str], dict[str, Any]]:
    with path_of(location).open("rb") as file:
        reader = fastavro.reader(file)
        records = [record for record in reader if isinstance(record, dict)]
        metadata = {str(key): str(value) for key, value in reader.metadata.items()}
        schema = reader.writer_schema
    assert isinstance(schema, dict)
    return records, metadata, schema


def _field(record: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(field for field in record["fields"] if field["name"].split(".")[-1] == name)
    return found


def _ids(schema: Any) -> Iterator[int]:
    if isinstance(schema, list):
        for each in schema:
            yield from _ids(each)
    elif isinstance(schema, dict):
        yield from (schema[key] for key in ("field-id", "element-id", "key-id", "value-id") if key in schema)
        for key in ("fields", "items", "values", "type"):
            yield from _ids(schema.get(key))
