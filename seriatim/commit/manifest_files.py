"""Writes the files of snapshots: manifests and manifest lists, with the numbers that readers will see in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from pyiceberg.avro.codecs import AvroCompressionCodec
from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DataFile,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriter,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table, TableProperties
from pyiceberg.table.metadata import TableMetadata

from seriatim.commit.forms import schema_of
from seriatim.commit.live_entries import Listed
from seriatim.commit.manifest_writers import manifest_list_writer, manifest_writer
from seriatim.commit.manifests import Contents
from seriatim.system import new_id

_UNASSIGNED: Final = -1  # PyIceberg's word for a number that the manifest list is to give.


class ManifestFiles:
    """Where the manifests of one commit go."""

    def __init__(self, table: Table) -> None:
        """Write beside the table's other metadata, under names that nobody else has."""
        self._io: FileIO = table.io
        self._locations = table.location_provider()
        self._file_id = new_id()
        self._count = 0

    def write(
        self,
        metadata: TableMetadata,
        spec: PartitionSpec,
        content: ManifestContent,
        contents: Contents,
        *,
        snapshot_id: int,
        sequence_number: int,
    ) -> tuple[ManifestFile, Listed]:
        """Write one manifest, and return it and what it lists as they will be read from the snapshot's list."""
        location = self._locations.new_metadata_location(f"{self._file_id}-m{self._count}.avro")
        self._count += 1
        with self._writer(metadata, spec, content, location, snapshot_id) as writer:
            for file in contents.added:
                writer.add(_added(file, snapshot_id, None))
            for entry in contents.existing:
                writer.existing(entry)
            for entry in contents.deleted:
                writer.delete(entry)
        manifest = writer.to_manifest_file()
        if carried := [*contents.existing, *contents.deleted]:
            # By the specification deleted entries count, too, which PyIceberg leaves out; and 0.10 takes the number 0,
            # of files from a format version 1 table, for none at all.
            manifest.min_sequence_number = min(entry.sequence_number or 0 for entry in carried)
        elif manifest.min_sequence_number == _UNASSIGNED:
            manifest.min_sequence_number = sequence_number
        manifest.sequence_number = sequence_number
        added = [_added(file, snapshot_id, sequence_number) for file in contents.added]
        return manifest, Listed.of([*added, *contents.existing])

    def write_list(
        self,
        metadata: TableMetadata,
        listed: Sequence[ManifestFile],
        *,
        snapshot_id: int,
        parent_id: int | None,
        sequence_number: int,
    ) -> str:
        """Write the manifest list of a snapshot, and return where it is."""
        location = self._locations.new_metadata_location(f"snap-{snapshot_id}-0-{self._file_id}.avro")
        output = self._io.new_output(location)
        with manifest_list_writer(
            metadata.format_version, output, snapshot_id, parent_id, sequence_number, _codec(metadata)
        ) as writer:
            writer.add_manifests(list(listed))
        return location

    def _writer(
        self, metadata: TableMetadata, spec: PartitionSpec, content: ManifestContent, location: str, snapshot_id: int
    ) -> ManifestWriter:
        schema, output = schema_of(metadata, spec), self._io.new_output(location)
        return manifest_writer(metadata.format_version, content, spec, schema, output, snapshot_id, _codec(metadata))


def _added(file: DataFile, snapshot_id: int, sequence_number: int | None) -> ManifestEntry:
    """Return the entry of a new file: as it is written without numbers, as it is read with those of its manifest."""
    return ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED,
        snapshot_id=snapshot_id,
        sequence_number=sequence_number,
        file_sequence_number=sequence_number,
        data_file=file,
    )


def _codec(metadata: TableMetadata) -> AvroCompressionCodec:
    """Return what the table says; PyIceberg refuses what it does not know."""
    codec = metadata.properties.get(
        TableProperties.WRITE_AVRO_COMPRESSION, TableProperties.WRITE_AVRO_COMPRESSION_DEFAULT
    )
    # PyIceberg knows it by Avro's own name alone.
    return "null" if codec == "uncompressed" else cast(AvroCompressionCodec, codec)
