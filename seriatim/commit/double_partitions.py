"""Refuses tables whose partition values PyIceberg does not read as they are.

Up to 0.12.0, PyIceberg's Avro decoder narrows every double to a float (iceberg-python#3808). The partition value 0.1 of
a double column comes back as 0.10000000149011612: a reader that looks for 0.1 leaves the file out, and a writer that
carries the entry over to another manifest makes that so for every engine.
"""

from __future__ import annotations

import struct

from pyiceberg.table import Table
from pyiceberg.types import DoubleType

from seriatim.commit import private
from seriatim.errors import InvalidChangeError


def is_kept(value: float) -> bool:
    """Tell whether PyIceberg reads that double, as a partition value, as what it is."""
    return private.reads_doubles_exactly() or narrowed(value) == value or value != value


def narrowed(value: float) -> float:
    """Return the nearest float, as a decoder that narrows does."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def require_exact(table: Table) -> None:
    """Refuse a table that is, or was, partitioned by the values of a double column.

    Raises:
        InvalidChangeError: it is, and this PyIceberg does not read them as they are.
    """
    metadata = table.metadata
    if private.reads_doubles_exactly():
        return
    for spec in metadata.partition_specs:
        for field in spec.fields:
            column = next(
                (each.find_field(field.source_id) for each in metadata.schemas if field.source_id in each.field_ids),
                None,
            )
            if column is None or not isinstance(field.transform.result_type(column.field_type), DoubleType):
                continue
            raise InvalidChangeError(
                f"{'.'.join(table.name())}: it is partitioned by the double column {column.name!r}, and this PyIceberg "
                f"reads such values rounded, so that rows would not be found. Nothing was written. Use a PyIceberg "
                f"that reads them as they are (later than 0.12.0), or partition by another column."
            )
