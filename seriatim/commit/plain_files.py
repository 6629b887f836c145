"""Reads and writes data files with the very columns of the table, which leaves nothing to project or to promote.

That is how every file lies that was written with the table's current schema. To find out how one of another schema is
to be read, as PyIceberg does for each, takes longer than to read a small one; and so does what it does to write one.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionFieldValue, PartitionKey
from pyiceberg.schema import Schema
from pyiceberg.table import TableProperties
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import Record

from seriatim.commit import private
from seriatim.commit.arrow_schemas import arrow_schema

_FIELD_ID: Final = b"PARQUET:field_id"
_ROWS_FOR_THREADS: Final = 100_000
_PARTITIONS_MAX: Final = 4
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_plain(io: FileIO, columns: Schema, file: DataFile) -> pa.Table | None:
    """Return these columns of every row of the file, in Iceberg's Arrow types; None: it has not these very columns."""
    if file.file_format != FileFormat.PARQUET or file.key_metadata is not None:
        return None
    wanted = arrow_schema(columns)
    with io.new_input(file.file_path).open() as stream:
        parquet = pq.ParquetFile(stream)
        own: pa.Schema = parquet.schema_arrow
        if not all(_has(own, field) for field in wanted):
            return None
        rows = parquet.read(columns=wanted.names, use_threads=file.record_count > _ROWS_FOR_THREADS)
    return rows.select(wanted.names).cast(pa.schema([field.remove_metadata() for field in wanted]))


def write_plain(metadata: TableMetadata, io: FileIO, rows: pa.Table, file_id: str) -> list[DataFile] | None:
    """Write rows that have the table's very schema, one file for each partition, as PyIceberg does.

    None: they take more than that: many partitions, which it writes side by side, several files for one, columns inside
    of columns, or names that it does not take as they are.
    """
    if not _is_plain(metadata, rows):
        return None
    parts = _parts(metadata, rows)
    if len(parts) > _PARTITIONS_MAX:
        return None
    return [_write(metadata, io, part, key, f"00000-{n}-{uuid.UUID(file_id)}") for n, (key, part) in enumerate(parts)]


def _parts(metadata: TableMetadata, rows: pa.Table) -> Sequence[tuple[PartitionKey | None, pa.Table]]:
    """Return the rows by partitions; most often there is one, which is found out sooner than how to tell them apart."""
    schema, values = metadata.schema(), []
    for field in metadata.spec().fields:
        transform = field.transform.pyarrow_transform(schema.find_type(field.source_id))
        found = transform(rows[schema.find_column_name(field.source_id)]).unique()
        if len(found) > 1:
            return private.partitions_of(metadata, rows)
        values.append(PartitionFieldValue(field, found[0].as_py()))
    if not values:
        return [(None, rows)]
    return [(PartitionKey(values, metadata.spec(), schema), rows.combine_chunks())]  # As PyIceberg writes a partition.


def _write(metadata: TableMetadata, io: FileIO, rows: pa.Table, key: PartitionKey | None, name: str) -> DataFile:
    schema, properties = metadata.schema(), metadata.properties
    location = load_location_provider(metadata.location, properties).new_data_location(f"{name}.parquet", key)
    limit = properties.get(TableProperties.PARQUET_ROW_GROUP_LIMIT, TableProperties.PARQUET_ROW_GROUP_LIMIT_DEFAULT)
    with io.new_output(location).create(overwrite=True) as stream:
        plain = rows.replace_schema_metadata(None)  # Not even an empty one, as PyIceberg has it.
        with pq.ParquetWriter(stream, schema=plain.schema, **private.parquet_options(properties)) as writer:
            writer.write(plain, row_group_size=int(limit))
        size = stream.tell()
    statistics = data_file_statistics_from_parquet_metadata(
        parquet_metadata=writer.writer.metadata,
        stats_columns=compute_statistics_plan(schema, properties),
        parquet_column_mapping=parquet_path_to_id_mapping(schema),
    )
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=location,
        file_format=FileFormat.PARQUET,
        partition=key.partition if key is not None else Record(),
        file_size_in_bytes=size,
        sort_order_id=None,
        spec_id=metadata.default_spec_id,
        equality_ids=None,
        key_metadata=None,
        **statistics.to_serialized_dict(),
    )


def _is_plain(metadata: TableMetadata, rows: pa.Table) -> bool:
    properties = metadata.properties
    target = properties.get(
        TableProperties.WRITE_TARGET_FILE_SIZE_BYTES, TableProperties.WRITE_TARGET_FILE_SIZE_BYTES_DEFAULT
    )
    return (
        properties.get("write.format.default", "parquet").lower() == "parquet"
        and rows.num_rows > 0
        and rows.nbytes <= int(target)
        and rows.schema.equals(arrow_schema(metadata.schema()), check_metadata=True)
        and all(_NAME.fullmatch(field.name) and not pa.types.is_nested(field.type) for field in rows.schema)
    )


def _has(own: pa.Schema, wanted: pa.Field) -> bool:
    """Tell whether the file has that field and no other of its name; one with fields inside is looked at elsewhere."""
    places = own.get_all_field_indices(wanted.name)
    if len(places) != 1 or pa.types.is_nested(wanted.type):
        return False
    field = own.field(places[0])
    return field.equals(wanted) and _field_id(field) == _field_id(wanted)


def _field_id(field: pa.Field) -> bytes | None:
    found: bytes | None = (field.metadata or {}).get(_FIELD_ID)
    return found
