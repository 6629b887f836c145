"""Reads a data file that has the very columns that are wanted, which leaves nothing to project or to promote.

That is how every file lies that the table's current schema was written with. To find out how a file of another schema
is to be read, as PyIceberg does for each, takes longer than to read a small one.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.schema import Schema

_FIELD_ID: Final = b"PARQUET:field_id"
_ROWS_FOR_THREADS: Final = 100_000


def read_plain(io: FileIO, columns: Schema, file: DataFile) -> pa.Table | None:
    """Return these columns of every row of the file, in Iceberg's Arrow types; None: it has not these very columns."""
    if file.file_format != FileFormat.PARQUET or file.key_metadata is not None:
        return None
    wanted: pa.Schema = columns.as_arrow()
    with io.new_input(file.file_path).open() as stream:
        parquet = pq.ParquetFile(stream)
        own: pa.Schema = parquet.schema_arrow
        if not all(_has(own, field) for field in wanted):
            return None
        rows = parquet.read(columns=wanted.names, use_threads=file.record_count > _ROWS_FOR_THREADS)
    return rows.select(wanted.names).cast(pa.schema([field.remove_metadata() for field in wanted]))


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
