"""What a data file says of itself: read where the log leaves it out, or where files are to be checked.

A file may bear field ids of which the log knows nothing: rows that Arrow read from an Iceberg or Spark file bring
theirs along when they are appended to a plain Delta table. Iceberg's readers trust them before any name, and would take
one column for another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import FileIO

from seriatim.errors import DeltaLogError, UnsupportedFeatureError
from seriatim.mirror.forms.delta_schema import ELEMENT, KEY, VALUE, Path

_ID = b"PARQUET:field_id"


@dataclass(frozen=True, slots=True)
class Footer:
    """What the footer of a Parquet file says."""

    rows: int
    ids: Mapping[Path, int]  # field ids, by the names in the file; only of what has one

    def require_ids(self, source: str, version: int, location: str, known: Mapping[Path, int]) -> None:
        """Refuse a file whose ids are not those that its columns have in the mirror.

        Raises:
            UnsupportedFeatureError: one is not.
        """
        for path, field_id in self.ids.items():
            if path in known and known[path] != field_id:
                raise UnsupportedFeatureError(
                    source,
                    version=version,
                    feature=f"the field id {field_id}, which the file {location} gives, and the log does not (there it "
                    f"is {known[path]}),",
                    column=".".join(path),
                )


def read_footer(source: str, version: int, io: FileIO, location: str) -> Footer:
    """Read a file's footer.

    Raises:
        DeltaLogError: the file is not there, or is no Parquet file.
    """
    try:
        with io.new_input(location).open() as stream:
            file = pq.ParquetFile(stream)
            return Footer(int(file.metadata.num_rows), dict(_ids(list(file.schema_arrow), ())))
    except (OSError, pa.ArrowException) as err:
        reason = f"the footer of {location} cannot be read, which must say how many rows it has ({err})"
        raise DeltaLogError(source, version=version, reason=reason) from err


def _ids(fields: list[pa.Field], outer: Path) -> Iterator[tuple[Path, int]]:
    for field in fields:
        yield from _of(field, (*outer, field.name))


def _of(field: pa.Field, path: Path) -> Iterator[tuple[Path, int]]:
    if field.metadata is not None and _ID in field.metadata:
        yield path, int(field.metadata[_ID])
    if pa.types.is_struct(field.type):
        yield from _ids([field.type.field(number) for number in range(field.type.num_fields)], path)
    elif pa.types.is_list(field.type) or pa.types.is_large_list(field.type):
        yield from _of(field.type.value_field, (*path, ELEMENT))
    elif pa.types.is_map(field.type):
        yield from _of(field.type.key_field, (*path, KEY))
        yield from _of(field.type.item_field, (*path, VALUE))
