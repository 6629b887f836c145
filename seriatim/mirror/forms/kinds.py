"""Says which of Iceberg's types a primitive type of Delta's is, and as what else its files can be read."""

from __future__ import annotations

import re
from typing import Final

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
)

_DECIMAL: Final = re.compile(r"decimal(?:\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\))?", re.ASCII)
_DECIMAL_DEFAULT: Final = DecimalType(10, 0)
_PRECISION_MAX: Final = 38
_KINDS: Final[dict[str, PrimitiveType]] = {
    "byte": IntegerType(),
    "short": IntegerType(),
    "integer": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "string": StringType(),
    "binary": BinaryType(),
    "boolean": BooleanType(),
    "date": DateType(),
    "timestamp": TimestamptzType(),
    "timestamp_ntz": TimestampType(),
}


def kind_of(name: str) -> PrimitiveType | None:
    """Return the Iceberg type of one of Delta's primitive types (None: Iceberg has no such type)."""
    decimal = _DECIMAL.fullmatch(name)
    if decimal is None:
        return _KINDS.get(name)
    if decimal.group(1) is None:
        return _DECIMAL_DEFAULT
    precision, scale = int(decimal.group(1)), int(decimal.group(2))
    return DecimalType(precision, scale) if 0 < precision <= _PRECISION_MAX and scale <= precision else None


def is_readable_as(written: str, wanted: str) -> bool:
    """Tell whether Iceberg's readers read a file of the one type as the other (Iceberg spec, "Schema Evolution")."""
    match kind_of(written), kind_of(wanted):
        case None, _:
            return False
        case (IntegerType(), LongType()) | (FloatType(), DoubleType()):
            return True
        case DecimalType() as before, DecimalType() as after:
            return before.scale == after.scale and before.precision <= after.precision
        case before, after:
            return before == after
