"""Refuses what Iceberg can say, and what this PyIceberg would read as something else: no mirror is silently wrong.

| up to | it reads | as |
| --- | --- | --- |
| 0.12.0 | the partition value of a double | the nearest float (iceberg-python#3808) |
| 0.11 | the partition values 0, 0.0 and false | NULL |
| 0.10 | rows of a file that are deleted by the snapshot that adds it | not deleted |
"""

from __future__ import annotations

from typing import Final

import pyiceberg
from pyiceberg.manifest import DataFile
from pyiceberg.types import DoubleType

from seriatim.commit.double_partitions import is_kept, narrowed
from seriatim.errors import UnsupportedFeatureError
from seriatim.mirror.forms.form import Form

_MINOR: Final = tuple(map(int, pyiceberg.__version__.split(".")[:2]))


def require_readable_partition(source: str, version: int, file: DataFile, form: Form) -> None:
    """Refuse a partition value that would be read as another.

    Raises:
        UnsupportedFeatureError: it would.
    """
    for position, field in enumerate(form.spec.fields):
        value = file.partition[position]
        if isinstance(form.schema.find_type(field.source_id), DoubleType) and not (value is None or is_kept(value)):
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
