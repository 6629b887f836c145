"""A rival with delete files, which PyIceberg reads and cannot write: merge-on-read, as Spark, Flink or Trino do it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, AssertTableUUID, SetSnapshotRefUpdate
from pyiceberg.typedef import Record

from seriatim.system import new_id
from tests.faults.bank import Bank

_FILE_PATH, _POS = 2147483546, 2147483545  # Reserved field ids (Iceberg specification, position delete files).


def delete_positions(
    bank: Bank,
    positions: Mapping[str, Sequence[int]],
    *,
    bounds: tuple[str, str] | None = None,
    has_bounds: bool = True,
) -> None:
    """Delete rows by data file and position, in one delete file and one snapshot.

    Its bounds of `file_path` are the first and the last path, or `bounds`, or none.
    """
    paths = sorted(positions)
    lower, upper = bounds or (paths[0], paths[-1])
    rows = pa.table(
        [
            pa.array([path for path in paths for _ in positions[path]], pa.string()),
            pa.array([pos for path in paths for pos in sorted(positions[path])], pa.int64()),
        ],
        schema=pa.schema([_field("file_path", pa.string(), _FILE_PATH), _field("pos", pa.int64(), _POS)]),
    )
    with bank.rival() as catalog:
        table = catalog.load_table(bank.identifier)
        file = _data_file(
            table,
            rows,
            content=DataFileContent.POSITION_DELETES,
            lower_bounds={_FILE_PATH: lower.encode()} if has_bounds else None,
            upper_bounds={_FILE_PATH: upper.encode()} if has_bounds else None,
        )
        _commit(catalog, table, file)


def delete_equal(bank: Bank, **values: Any) -> None:
    """Delete the rows that have these values, by an equality delete file."""
    with bank.rival() as catalog:
        table = catalog.load_table(bank.identifier)
        fields = [table.schema().find_field(name) for name in values]
        arrow = table.schema().as_arrow()
        schema = pa.schema([_field(field.name, arrow.field(field.name).type, field.field_id) for field in fields])
        rows = pa.Table.from_pylist([values], schema=schema)
        ids = [field.field_id for field in fields]
        _commit(catalog, table, _data_file(table, rows, content=DataFileContent.EQUALITY_DELETES, equality_ids=ids))


def _field(name: str, type_: pa.DataType, field_id: int) -> pa.Field:
    return pa.field(name, type_, nullable=False, metadata={"PARQUET:field_id": str(field_id)})


def _data_file(table: Table, rows: pa.Table, **arguments: Any) -> DataFile:
    location = f"{table.location()}/data/{new_id()}-deletes.parquet"
    output = table.io.new_output(location)
    with output.create() as stream:
        pq.write_table(rows, stream)
    return DataFile.from_args(
        file_path=location,
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=rows.num_rows,
        file_size_in_bytes=len(output),
        **arguments,
    )


class _DeleteManifestWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def _commit(catalog: Catalog, table: Table, file: DataFile) -> None:
    metadata, head = table.metadata, table.current_snapshot()
    assert head is not None
    snapshot_id = metadata.new_snapshot_id()
    manifests = [*head.manifests(table.io), _manifest(table, file, snapshot_id)]
    number = metadata.next_sequence_number()
    location = f"{table.location()}/metadata/snap-{snapshot_id}-{new_id()}.avro"
    with write_manifest_list(
        format_version=2,
        output_file=table.io.new_output(location),
        snapshot_id=snapshot_id,
        parent_snapshot_id=head.snapshot_id,
        sequence_number=number,
        avro_compression="deflate",
    ) as writer:
        writer.add_manifests(manifests)
    snapshot = Snapshot(
        snapshot_id=snapshot_id,
        parent_snapshot_id=head.snapshot_id,
        sequence_number=number,
        timestamp_ms=head.timestamp_ms + 1,
        manifest_list=location,
        summary=Summary(operation=Operation.DELETE),
        schema_id=metadata.current_schema_id,
    )
    to_it = SetSnapshotRefUpdate(
        ref_name="main",
        type="branch",
        snapshot_id=snapshot_id,
        max_ref_age_ms=None,
        max_snapshot_age_ms=None,
        min_snapshots_to_keep=None,
    )
    catalog.commit_table(
        table, (AssertTableUUID(uuid=metadata.table_uuid),), (AddSnapshotUpdate(snapshot=snapshot), to_it)
    )


def _manifest(table: Table, file: DataFile, snapshot_id: int) -> ManifestFile:
    location = f"{table.location()}/metadata/{new_id()}-m0.avro"
    output = table.io.new_output(location)
    with _DeleteManifestWriter(table.spec(), table.schema(), output, snapshot_id, "deflate") as writer:
        writer.add_entry(
            ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=snapshot_id, data_file=file)
        )
    return writer.to_manifest_file()
