"""Refuses what Iceberg can say, and what this PyIceberg would read as something else: no mirror is silently wrong.

| up to | it reads | as |
| --- | --- | --- |
| 0.12.0 | the partition value of a double | the nearest float (iceberg-python#3808) |
| 0.11 | the partition values 0, 0.0 and false | NULL |
| 0.10 | rows of a file that are deleted by the snapshot that adds it | not deleted |
"""

from __future__ import annotations

import math
import struct
from typing import Final

import pyiceberg
from pyiceberg.avro.decoder import new_decoder
from pyiceberg.manifest import DataFile
from pyiceberg.types import DoubleType

from seriatim.errors import UnsupportedFeatureError
from seriatim.mirror.forms.form import Form

_READS_DOUBLES: Final = new_decoder(struct.pack("<d", 0.1)).read_double() == 0.1
_MINOR: Final = tuple(map(int, pyiceberg.__version__.split(".")[:2]))


def is_kept(value: float) -> bool:
    """Tell whether PyIceberg reads that double, as a partition value, as what it is."""
    return _READS_DOUBLES or narrowed(value) == value or math.isnan(value)


def narrowed(value: float) -> float:
    """Return the nearest float, as a decoder that narrows does."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def require_readable_partition(source: str, version: int, file: DataFile, form: Form) -> None:
    """Refuse a partition value that would be read as another.

    Raises:
        UnsupportedFeatureError: it would.
    """
    for position, field in enumerate(form.spec.fields):
        value = file.partition[position]
        if isinstance(form.schema.find_type(field.source_id), DoubleType) and value is not None and not is_kept(value):
            misread = repr(narrowed(value))
        elif _MINOR < (0, 12) and value is not None and not value:
            misread = "NULL"
        else:
            continue
        raise UnsupportedFeatureError(
            source,
            version=version,
            feature=f"the partition value {value!r}, which PyIceberg {pyiceberg.__version__} reads as {misread},",
            column=form.schema.find_column_name(field.source_id),
        )


def require_readable_deletes(source: str, version: int) -> None:
    """Refuse a file that is added with a deletion vector, where its rows would be read.

    Raises:
        UnsupportedFeatureError: they would.
    """
    if _MINOR < (0, 11):
        feature = (
            f"a file that is added with a deletion vector, which PyIceberg {pyiceberg.__version__} does not apply,"
        )
        raise UnsupportedFeatureError(source, version=version, feature=feature)
