"""Makes the Iceberg data file of a file that a Delta log adds; the file itself is not opened."""

from __future__ import annotations

from pyiceberg.manifest import DataFile, DataFileContent, FileFormat

from seriatim.errors import DeltaLogError
from seriatim.mirror.delta.actions import AddFile, Metadata
from seriatim.mirror.forms.form import Form
from seriatim.mirror.forms.metrics import metrics, record_count
from seriatim.mirror.forms.partition_values import partition_record


def needs_row_count(add: AddFile) -> bool:
    """Tell whether the log does not say how many rows the file has, so that its footer must be asked."""
    return record_count(add) is None


def data_file(
    source: str, version: int, add: AddFile, form: Form, metadata: Metadata, row_count: int | None
) -> DataFile:
    """Return the file as Iceberg knows it; `row_count` is used only where the log does not say it.

    Raises:
        DeltaLogError: nothing says how many rows it has, or a partition value is no value.
    """
    said = record_count(add)
    rows = row_count if said is None else said
    if rows is None:
        raise DeltaLogError(source, version=version, reason=f"nothing says how many rows {add.path} has")
    known = metrics(add, form.schema, metadata)
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=add.path,
        file_format=FileFormat.PARQUET,
        partition=partition_record(source, version, add, form, metadata),
        record_count=rows,
        file_size_in_bytes=add.size,
        column_sizes={},
        value_counts=known.value_counts,
        null_value_counts=known.null_value_counts,
        nan_value_counts={},
        lower_bounds=known.lower_bounds,
        upper_bounds=known.upper_bounds,
        key_metadata=None,
        split_offsets=None,
        equality_ids=None,
        sort_order_id=None,
    )
    file.spec_id = form.spec.spec_id
    return file
