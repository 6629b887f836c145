"""Writes position-delete files: which rows of a data file are there no more, while the file itself stays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record

FILE_PATH_ID: Final = 2147483546  # Both are reserved (Iceberg specification, "Position Delete Files").
POS_ID: Final = 2147483545


def position_delete_file(
    io: FileIO, location: str, spec_id: int, partition: Record, data_path: str, positions: Iterable[int]
) -> DataFile:
    """Write to `location` that a data file of this partition has lost the rows at these positions, counted from 0.

    Its bounds name the one data file, so that no reader opens it for another. (A field of its own for that,
    `referenced_data_file`, is none that PyIceberg keeps in format version 2.)

    Raises:
        ValueError: there are no positions, or one is negative.
    """
    ordered = pc.unique(pa.array(positions, pa.int64())).sort()
    if not ordered or ordered[0].as_py() < 0:
        raise ValueError(f"{data_path}: positions to delete must be 0 or more, and some, not {ordered[:1].to_pylist()}")
    paths = pa.repeat(pa.scalar(data_path, pa.string()), len(ordered))
    output = io.new_output(location)
    with output.create() as stream:
        pq.write_table(pa.table([paths, ordered], schema=_SCHEMA), stream, compression="zstd")
    file = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=location,
        file_format=FileFormat.PARQUET,
        partition=partition,
        record_count=len(ordered),
        file_size_in_bytes=len(output),
        column_sizes={},  # PyIceberg's inspection fails where there are none at all.
        lower_bounds={FILE_PATH_ID: data_path.encode()},
        upper_bounds={FILE_PATH_ID: data_path.encode()},
    )
    file.spec_id = spec_id
    return file


def _field(name: str, type_: pa.DataType, field_id: int) -> pa.Field:
    return pa.field(name, type_, nullable=False, metadata={"PARQUET:field_id": str(field_id)})


_SCHEMA: Final = pa.schema([_field("file_path", pa.string(), FILE_PATH_ID), _field("pos", pa.int64(), POS_ID)])
