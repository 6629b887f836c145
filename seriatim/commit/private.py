"""What the core uses of PyIceberg that PyIceberg does not promise to keep; the canary tests watch all of it.

Everything else of PyIceberg that the package uses is public. When a version moves one of these, this is the one file to
change.
"""

from __future__ import annotations

import json
import logging
import struct
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Final, TypeVar

import pyarrow as pa
from pyiceberg.avro.decoder import StreamingBinaryDecoder, new_decoder
from pyiceberg.avro.file import META_SCHEMA, SYNC_SIZE, AvroFile, AvroFileHeader, Block
from pyiceberg.avro.reader import Reader
from pyiceberg.avro.resolver import construct_reader, resolve_reader
from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.expressions.visitors import _InclusiveMetricsEvaluator
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import (
    ArrowScan,
    _check_pyarrow_schema_compatible,
    _dataframe_to_data_files,
    _determine_partitions,
    _get_parquet_writer_kwargs,
    schema_to_pyarrow,
)
from pyiceberg.manifest import (
    DEFAULT_READ_VERSION,
    MANIFEST_ENTRY_SCHEMAS,
    MANIFEST_LIST_FILE_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    PartitionFieldSummary,
    _inherit_from_manifest,
)
from pyiceberg.partitioning import PartitionKey
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    TableUpdate,
    _apply_table_update,
    _TableMetadataUpdateContext,
    _update_table_metadata_log,
)
from pyiceberg.typedef import Record, StructProtocol
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

_log = logging.getLogger(__name__)
D = TypeVar("D", bound=Record)

_HEADER: Final = construct_reader(META_SCHEMA, {-1: AvroFileHeader})
_Form = tuple[Schema, dict[int, Callable[..., StructProtocol]], dict[int, Callable[..., Enum]]]
_LIST: Final[_Form] = (
    MANIFEST_LIST_FILE_SCHEMAS[DEFAULT_READ_VERSION],
    {-1: ManifestFile, 508: PartitionFieldSummary},
    {517: ManifestContent},
)
_MANIFEST: Final[_Form] = (
    MANIFEST_ENTRY_SCHEMAS[DEFAULT_READ_VERSION],
    {-1: ManifestEntry, 2: DataFile},
    {0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
)


_READS_DOUBLES: Final = new_decoder(struct.pack("<d", 0.1)).read_double() == 0.1


def check_schema(metadata: TableMetadata, schema: pa.Schema) -> None:
    """Raise ValueError unless rows of that Arrow schema can be written without loss."""
    _check_pyarrow_schema_compatible(metadata.schema(), provided_schema=schema, format_version=metadata.format_version)


def read_file(metadata: TableMetadata, io: FileIO, task: FileScanTask, schema: Schema | None = None) -> pa.Table:
    """Return all live rows of one data file, in the table's current schema, or in a part of it."""
    return read_columns(metadata, io, schema or metadata.schema(), [task])


def read_columns(metadata: TableMetadata, io: FileIO, columns: Schema, tasks: Sequence[FileScanTask]) -> pa.Table:
    """Return these columns of all live rows of data files."""
    scan = ArrowScan(table_metadata=metadata, io=io, projected_schema=columns, row_filter=AlwaysTrue())
    return scan.to_table(tasks=tasks)


class FileReader:
    """Reads data files of one table as `read_file` does, and makes once what that makes anew for each.

    One after another, and here: to hand a small file to PyIceberg's threads takes longer than to read it.
    """

    def __init__(self, metadata: TableMetadata, io: FileIO) -> None:
        """Read in the table's current schema."""
        self._scan = ArrowScan(
            table_metadata=metadata, io=io, projected_schema=metadata.schema(), row_filter=AlwaysTrue()
        )
        self._empty: pa.Table = schema_to_pyarrow(metadata.schema(), include_field_ids=False).empty_table()

    def read(self, task: FileScanTask) -> pa.Table:
        """Return all live rows of one data file."""
        if task.delete_files:
            return self._scan.to_table(tasks=[task])
        batches = self._scan._record_batches_from_scan_tasks_and_deletes([task], {})
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        return pa.concat_tables(tables, promote_options="permissive") if tables else self._empty


def read_manifest_list(io: FileIO, location: str) -> list[ManifestFile]:
    """Return the manifests that a manifest list names, as PyIceberg reads them."""
    with _KnownAvroFile[ManifestFile](io.new_input(location), *_LIST) as reader:
        return list(reader)


def read_manifest(io: FileIO, manifest: ManifestFile) -> list[ManifestEntry]:
    """Return the live entries of a manifest, as PyIceberg reads them."""
    with _KnownAvroFile[ManifestEntry](io.new_input(manifest.manifest_path), *_MANIFEST) as reader:
        entries = [entry for entry in reader if entry.status != ManifestEntryStatus.DELETED]
    return [_inherit_from_manifest(entry, manifest) for entry in entries]


class _KnownAvroFile(AvroFile[D]):
    """An Avro file of which PyIceberg works out how to read it once for each schema, and not for each file.

    Of a small file that takes longer than all the rest, and the thousands of a history have a handful of schemas.

    Partition values that are doubles are read as what they are. PyIceberg's fast decoder narrows them to floats up to
    0.12.0 (iceberg-python#3808), so that whoever carries such an entry over to another manifest would change it.
    """

    is_narrowed = False  # whether the fast decoder would narrow something in it

    def __enter__(self) -> _KnownAvroFile[D]:
        with self.input_file.open() as stream:
            self.decoder = new_decoder(stream.read())
        self.header = _HEADER.read(self.decoder)
        if "avro.schema" not in self.header.meta:
            raise ValueError("it says nothing of its schema")
        is_list = self.read_schema is _LIST[0]
        self.schema, self.reader = known_reader(self.header.meta["avro.schema"], is_list=is_list)
        self.is_narrowed = not _READS_DOUBLES and '"double"' in self.header.meta["avro.schema"]
        return self

    def _read_block(self) -> int:
        """Begin the next block, as PyIceberg does, but with the decoder that leaves doubles as they are if need be."""
        if not self.is_narrowed:
            return super()._read_block()
        if self.block and (sync := self.decoder.read(SYNC_SIZE)) != self.header.sync:
            raise ValueError(f"expected sync bytes {self.header.sync!r}, but got {sync!r}")
        count, content = self.decoder.read_int(), self.decoder.read_bytes()
        if codec := self.header.compression_codec():
            content = codec.decompress(content)
        self.block = Block(reader=self.reader, block_records=count, block_decoder=StreamingBinaryDecoder(content))
        return count


@lru_cache(maxsize=64)
def known_reader(avro_schema: str, *, is_list: bool) -> tuple[Schema, Reader]:
    """Return how to read a manifest list, or a manifest, of this Avro schema."""
    schema = AvroSchemaConversion().avro_to_iceberg(json.loads(avro_schema))
    read_schema, types, enums = _LIST if is_list else _MANIFEST
    return schema, resolve_reader(schema, read_schema, types, enums)


def write_files(metadata: TableMetadata, io: FileIO, rows: pa.Table, file_id: str) -> Iterable[DataFile]:
    """Write the rows to new data files, by the table's partition spec."""
    return _dataframe_to_data_files(table_metadata=metadata, df=rows, io=io, write_uuid=uuid.UUID(file_id))


def partitions_of(metadata: TableMetadata, rows: pa.Table) -> list[tuple[PartitionKey, pa.Table]]:
    """Return the rows by the partitions of the table's current spec."""
    found = _determine_partitions(spec=metadata.spec(), schema=metadata.schema(), arrow_table=rows)
    return [(each.partition_key, each.arrow_table_partition) for each in found]


def parquet_options(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return how the table's properties want its Parquet files written, as the options of PyArrow's writer."""
    return {**_get_parquet_writer_kwargs(dict(properties)), "store_decimal_as_integer": True}


def bounds_evaluator(schema: Schema, condition: BooleanExpression) -> Callable[[DataFile], bool]:
    """Return what tells from a data file's column bounds and counts whether it may hold a row that fits."""
    return _InclusiveMetricsEvaluator(schema, condition, case_sensitive=True, include_empty_files=True).eval


def updated_metadata(before: TableMetadata, updates: Iterable[TableUpdate], location: str) -> TableMetadata:
    """Return the metadata that was loaded from `location` with the updates applied, as the next file is to have it.

    What did not change is shared with `before`: PyIceberg copies it, which takes longer the longer the history is.
    """
    context, metadata = _TableMetadataUpdateContext(), before
    for update in updates:
        metadata = _apply_table_update(update, metadata, context)
    if hasattr(metadata, "sort_order"):  # 0.10 makes no such check.
        metadata.spec().check_compatible(metadata.schema())
        metadata.sort_order().check_compatible(metadata.schema())
    return _update_table_metadata_log(metadata, location, before.last_updated_ms)


def table_io(catalog: MetastoreCatalog, properties: Mapping[str, str], location: str) -> FileIO:
    """Return what reads and writes the files of a table with these properties, whose metadata file lies there."""
    return catalog._load_file_io(dict(properties), location)


def next_metadata_location(table: Table) -> str:
    """Return where the metadata file after the loaded one goes, under a name that nobody else has."""
    number = MetastoreCatalog._parse_metadata_version(table.metadata_location) + 1
    return table.location_provider().new_table_metadata_file_location(number)


def delete_old_metadata(catalog: Catalog, io: FileIO, before: TableMetadata, after: TableMetadata) -> None:
    """Delete the metadata files that the table's properties say to forget, as PyIceberg does after each commit."""
    try:
        catalog._delete_old_metadata(io, before, after)
    except Exception as err:  # noqa: BLE001  # The commit has landed; a file that is left behind harms nobody.
        _log.warning("could not delete old metadata files: %s", err)
