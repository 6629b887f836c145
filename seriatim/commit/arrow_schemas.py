"""The Arrow schema of a table's schema, worked out once for each that is loaded: an attempt asks often."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
from pyiceberg.schema import Schema


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return the schema in Iceberg's Arrow types, with field ids."""
    return _worked_out(_This(schema))


@dataclass(frozen=True, slots=True, eq=False)
class _This:
    """A schema, equal to itself alone: PyIceberg's cannot be hashed."""

    schema: Schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _This) and other.schema is self.schema


@lru_cache(maxsize=8)
def _worked_out(this: _This) -> pa.Schema:
    return this.schema.as_arrow()
