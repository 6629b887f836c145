"""Counts the NaN of each column of a written file, which PyIceberg does not (Iceberg spec, `nan_value_counts`).

Without a count a reader must open each file to find NaN, and each file to be sure that there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile
from pyiceberg.table import FileScanTask
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import DoubleType, FloatType, NestedField, StructType

from seriatim.commit import private

_Paths = dict[int, tuple[str, ...]]  # by field id: the names down to a column of floats


def with_nan_counts(metadata: TableMetadata, io: FileIO, rows: pa.Table, files: Iterable[DataFile]) -> list[DataFile]:
    """Return the files, which together hold the rows, with the NaN of each counted where its values are counted."""
    written = list(files)
    paths = dict(_float_columns(metadata.schema().fields))
    totals = _counted(rows, paths)
    some = {field_id: path for field_id, path in paths.items() if totals[field_id]}
    for file in written:
        if some and len(written) > 1:  # Which rows went where is told by the files alone.
            schema = metadata.schema().select(*sorted({path[0] for path in some.values()}))
            file.spec_id = metadata.default_spec_id
            task = FileScanTask(data_file=file)
            counts = {**totals, **_counted(private.read_file(metadata, io, task, schema), some)}
        else:
            counts = totals
        file.nan_value_counts.update({id_: count for id_, count in counts.items() if id_ in file.value_counts})
    return written


def _float_columns(fields: Sequence[NestedField], outer: tuple[str, ...] = ()) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield columns of floats, those in structs too; metrics of what is in lists and maps have no use."""
    for field in fields:
        path = (*outer, field.name)
        if isinstance(field.field_type, FloatType | DoubleType):
            yield field.field_id, path
        elif isinstance(field.field_type, StructType):
            yield from _float_columns(field.field_type.fields, path)


def _counted(rows: pa.Table, paths: _Paths) -> dict[int, int]:
    return {field_id: _count(rows[path[0]], path[1:]) for field_id, path in paths.items()}


def _count(column: pa.ChunkedArray, inner: tuple[str, ...]) -> int:
    values = pc.struct_field(column, list(inner)) if inner else column
    return int(pc.sum(pc.is_nan(values)).as_py() or 0)  # The sum of no values is null.
