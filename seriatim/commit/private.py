"""What the core uses of PyIceberg that PyIceberg does not promise to keep; the canary tests watch all of it.

Everything else of PyIceberg that the package uses is public. When a version moves one of these, this is the one file to
change.
"""

from __future__ import annotations

import logging
import struct
import uuid
from collections.abc import Callable, Iterable
from functools import cache

import pyarrow as pa
from pyiceberg.avro.decoder import new_decoder
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.expressions.visitors import _InclusiveMetricsEvaluator
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import ArrowScan, _check_pyarrow_schema_compatible, _dataframe_to_data_files
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask
from pyiceberg.table.metadata import TableMetadata

_log = logging.getLogger(__name__)


def check_schema(metadata: TableMetadata, schema: pa.Schema) -> None:
    """Raise ValueError unless rows of that Arrow schema can be written without loss."""
    _check_pyarrow_schema_compatible(metadata.schema(), provided_schema=schema, format_version=metadata.format_version)


def read_file(metadata: TableMetadata, io: FileIO, task: FileScanTask, schema: Schema | None = None) -> pa.Table:
    """Return all live rows of one data file, in the table's current schema, or in a part of it."""
    return read_columns(metadata, io, schema or metadata.schema(), [task])


def read_columns(metadata: TableMetadata, io: FileIO, columns: Schema, tasks: Iterable[FileScanTask]) -> pa.Table:
    """Return these columns of all live rows of data files."""
    scan = ArrowScan(table_metadata=metadata, io=io, projected_schema=columns, row_filter=AlwaysTrue())
    return scan.to_table(tasks=tasks)


def write_files(metadata: TableMetadata, io: FileIO, rows: pa.Table, file_id: str) -> Iterable[DataFile]:
    """Write the rows to new data files, by the table's partition spec."""
    return _dataframe_to_data_files(table_metadata=metadata, df=rows, io=io, write_uuid=uuid.UUID(file_id))


def bounds_evaluator(schema: Schema, condition: BooleanExpression) -> Callable[[DataFile], bool]:
    """Return what tells from a data file's column bounds and counts whether it may hold a row that fits."""
    return _InclusiveMetricsEvaluator(schema, condition, case_sensitive=True, include_empty_files=True).eval


@cache
def reads_doubles_exactly() -> bool:
    """Tell whether PyIceberg reads a double in a manifest as what it is, and not narrowed to a float."""
    return new_decoder(struct.pack("<d", 0.1)).read_double() == 0.1


def delete_old_metadata(catalog: Catalog, io: FileIO, before: TableMetadata, after: TableMetadata) -> None:
    """Delete the metadata files that the table's properties say to forget, as PyIceberg does after each commit."""
    try:
        catalog._delete_old_metadata(io, before, after)
    except Exception as err:  # noqa: BLE001  # The commit has landed; a file that is left behind harms nobody.
        _log.warning("could not delete old metadata files: %s", err)
