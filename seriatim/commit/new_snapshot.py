"""Writes the one snapshot of a change: its manifests, its manifest list, and what the catalog is told of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DataFile,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table, TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import AddSnapshotUpdate, AddSortOrderUpdate, SetSnapshotRefUpdate, TableUpdate

from seriatim.commit import manifests
from seriatim.commit.manifests import Contents
from seriatim.commit.snapshot_totals import summarized
from seriatim.errors import InvalidChangeError
from seriatim.system import new_id


def write_snapshot(
    table: Table,
    branch: str,
    *,
    added: Sequence[DataFile],
    removed: Sequence[DataFile],
    operation: Operation,
    now_ms: int,
) -> tuple[TableUpdate, ...]:
    """Write a snapshot on the branch as it was loaded, and return the updates that make it the branch's newest.

    Raises:
        InvalidChangeError: the table is of a format version that cannot be written.
        MissingFileError: a removed file is not in the branch.
    """
    return _Writer(table, branch).write(added, removed, operation, now_ms)


class _Writer:
    """One snapshot being written."""

    def __init__(self, table: Table, branch: str) -> None:
        self._metadata: TableMetadata = table.metadata
        self._io: FileIO = table.io
        self._branch = branch
        self._parent = self._metadata.snapshot_by_name(branch)
        self._id = self._metadata.new_snapshot_id()
        self._sequence_number = self._metadata.next_sequence_number()
        self._locations = table.location_provider()
        self._file_id = new_id()
        codec = self._metadata.properties.get(
            TableProperties.WRITE_AVRO_COMPRESSION, TableProperties.WRITE_AVRO_COMPRESSION_DEFAULT
        )
        self._codec = "null" if codec == "uncompressed" else codec  # PyIceberg knows it by Avro's own name alone.
        self._written: list[ManifestFile] = []
        if self._metadata.format_version not in (1, 2):
            raise InvalidChangeError(
                f"{'.'.join(table.name())}: format version {self._metadata.format_version} cannot be written; "
                f"nothing was written. Tables of format versions 1 and 2 can."
            )

    def write(
        self, added: Sequence[DataFile], removed: Sequence[DataFile], operation: Operation, now_ms: int
    ) -> tuple[TableUpdate, ...]:
        parents = self._parent.manifests(self._io) if self._parent is not None else []
        merges, target_bytes = manifests.merging(self._metadata.properties)
        plan = manifests.plan(
            parents,
            self._entries,
            added=added,
            removed=removed,
            spec_id=self._metadata.default_spec_id,
            merges=merges,
            target_bytes=target_bytes,
        )
        for spec_id, contents in plan.written.items():
            for piece in contents.in_bounds():
                self._write_manifest(self._metadata.specs()[spec_id], piece)
        snapshot = Snapshot(
            snapshot_id=self._id,
            parent_snapshot_id=self._parent.snapshot_id if self._parent is not None else None,
            sequence_number=self._sequence_number,
            # An engine that finds a snapshot by time wants the times in order, whatever the clocks say.
            timestamp_ms=max(now_ms, self._metadata.last_updated_ms),
            manifest_list=self._write_list([*self._written, *plan.kept]),
            summary=summarized(
                self._metadata, self._parent, operation, added, removed, entries=lambda: self._all_entries(parents)
            ),
            schema_id=self._metadata.current_schema_id,
        )
        return *self._missing_order(), AddSnapshotUpdate(snapshot=snapshot), self._set_branch()

    def _entries(self, manifest: ManifestFile) -> list[ManifestEntry]:
        return manifest.fetch_manifest_entry(self._io, discard_deleted=True)

    def _all_entries(self, parents: Sequence[ManifestFile]) -> Iterator[ManifestEntry]:
        for manifest in parents:
            yield from self._entries(manifest)

    def _write_manifest(self, spec: PartitionSpec, contents: Contents) -> None:
        location = self._locations.new_metadata_location(f"{self._file_id}-m{len(self._written)}.avro")
        with write_manifest(
            format_version=self._metadata.format_version,
            spec=spec,
            schema=_schema_of(self._metadata, spec),
            output_file=self._io.new_output(location),
            snapshot_id=self._id,
            avro_compression=self._codec,  # type: ignore[arg-type]  # What the table says; PyIceberg refuses others.
        ) as writer:
            for file in contents.added:
                writer.add(_new_entry(self._id, file))
            for entry in contents.existing:
                writer.existing(entry)
            for entry in contents.deleted:
                writer.delete(entry)
        manifest = writer.to_manifest_file()
        if carried := [*contents.existing, *contents.deleted]:
            # By the specification deleted entries count, too, which PyIceberg leaves out; and 0.10 takes the number 0,
            # of files from a format version 1 table, for none at all.
            manifest.min_sequence_number = min(entry.sequence_number or 0 for entry in carried)
        self._written.append(manifest)

    def _write_list(self, listed: Sequence[ManifestFile]) -> str:
        location = self._locations.new_metadata_location(f"snap-{self._id}-0-{self._file_id}.avro")
        with write_manifest_list(
            format_version=self._metadata.format_version,
            output_file=self._io.new_output(location),
            snapshot_id=self._id,
            parent_snapshot_id=self._parent.snapshot_id if self._parent is not None else None,
            sequence_number=self._sequence_number,
            avro_compression=self._codec,  # type: ignore[arg-type]  # As above.
        ) as writer:
            writer.add_manifests(sorted(listed, key=lambda each: each.content != ManifestContent.DATA))
        return location

    def _missing_order(self) -> Iterator[TableUpdate]:
        """Yield what adds the order without fields where it is missing; DuckDB makes such tables.

        PyIceberg takes no snapshot for a table without any sort order.
        """
        if not self._metadata.sort_orders:
            yield AddSortOrderUpdate(sort_order=UNSORTED_SORT_ORDER)

    def _set_branch(self) -> SetSnapshotRefUpdate:
        """Move the branch; the gate sees to it that it keeps what its owner has set on it."""
        return SetSnapshotRefUpdate(
            ref_name=self._branch,
            type="branch",
            snapshot_id=self._id,
            max_ref_age_ms=None,
            max_snapshot_age_ms=None,
            min_snapshots_to_keep=None,
        )


def _new_entry(snapshot_id: int, file: DataFile) -> ManifestEntry:
    return ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED,
        snapshot_id=snapshot_id,
        sequence_number=None,
        file_sequence_number=None,
        data_file=file,
    )


def _schema_of(metadata: TableMetadata, spec: PartitionSpec) -> Schema:
    """Return the table's schema, or the newest one that still has the columns by which an old spec partitions."""
    sources = {field.source_id for field in spec.fields}
    candidates = [metadata.schema(), *sorted(metadata.schemas, key=lambda each: each.schema_id, reverse=True)]
    return next((each for each in candidates if sources <= set(each.field_ids)), metadata.schema())
