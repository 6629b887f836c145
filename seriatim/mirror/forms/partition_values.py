r"""Reads partition values as a Delta log has them (Delta protocol, "Partition Value Serialization").

None and "" are both null, for strings too. A timestamp without a time zone is in the zone of whoever wrote it, which
nothing tells: it is taken for UTC, as delta-rs and the Delta kernel do and write. A binary is either what delta-rs
writes, an escape such as `\u0061` for each byte, or what Spark writes, the bytes as text; one that Spark has spoilt,
because its bytes are no text, is refused.
"""

from __future__ import annotations

import re
import struct
from decimal import Context, Decimal
from typing import Final

from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from seriatim.errors import DeltaLogError
from seriatim.mirror.delta.actions import AddFile, Metadata
from seriatim.mirror.forms import delta_schema, texts
from seriatim.mirror.forms.form import Form

Value = bool | int | float | Decimal | str | bytes

_BITS: Final = {IntegerType: 31, LongType: 63}
_ESCAPED: Final = re.compile(r"(?:\\u00[0-9a-fA-F]{2})+", re.ASCII)
_ESCAPE_LENGTH: Final = len(r"\u0061")
_SPOILT: Final = "\ufffd"
_WIDE: Final = Context(prec=100)
_FLOAT: Final = struct.Struct("<f")


def partition_record(source: str, version: int, add: AddFile, form: Form, metadata: Metadata) -> Record:
    """Return the file's partition values as PyIceberg has them: days and microseconds for dates and timestamps.

    Raises:
        DeltaLogError: a value is missing, or is none of its column's type.
    """
    columns = delta_schema.columns(metadata)
    by_id = {field.field_id: (field, column) for field, column in zip(form.schema.fields, columns, strict=True)}
    values: list[Value | None] = []
    for partition in form.spec.fields:
        field, column = by_id[partition.source_id]
        if column.physical_name not in add.partition_values:
            reason = f"file {add.path} has no value for partition column {column.name!r}"
            raise DeltaLogError(source, version=version, reason=reason)
        text = add.partition_values[column.physical_name]
        value = partition_value(field.field_type, text) if text else None
        if text and value is None:
            reason = (
                f"file {add.path} has the value {text!r} in partition column {column.name!r}, no {field.field_type}"
            )
            raise DeltaLogError(source, version=version, reason=reason)
        values.append(value)
    return Record(*values)


def partition_value(kind: IcebergType, text: str) -> Value | None:
    """Return the value that a text stands for (None: none of that type)."""
    value: Value | None = None
    match kind:
        case BooleanType():
            value = {"true": True, "false": False}.get(text.lower())
        case IntegerType() | LongType():
            value = _whole(kind, text)
        case FloatType() | DoubleType():
            value = _float(kind, text)
        case DecimalType():
            value = _decimal(kind, text)
        case StringType():
            value = text
        case BinaryType():
            value = _binary(text)
        case DateType():
            value = texts.days(text)
        case TimestampType() | TimestamptzType():
            value = _micros(kind, text)
        case _:
            pass
    return value


def _whole(kind: IntegerType | LongType, text: str) -> int | None:
    number, bits = texts.whole(text), _BITS[type(kind)]
    return number if number is not None and -(2**bits) <= number < 2**bits else None


def _micros(kind: TimestampType | TimestamptzType, text: str) -> int | None:
    moment = texts.moment(text)
    if moment is None or not moment.is_exact or (isinstance(kind, TimestampType) and moment.offset_s):
        return None
    return moment.micros


def _float(kind: FloatType | DoubleType, text: str) -> float | None:
    number = texts.number(text)
    if number is None:
        return None
    value = float(number)
    try:
        # The value that a manifest gives back, so that the two are equal.
        return float(_FLOAT.unpack(_FLOAT.pack(value))[0]) if isinstance(kind, FloatType) else value
    except OverflowError:
        return None


def _decimal(kind: DecimalType, text: str) -> Decimal | None:
    number = texts.number(text)
    if number is None or not number.is_finite():
        return None
    if number and number.adjusted() >= kind.precision - kind.scale:
        return None
    exact = number.quantize(Decimal(1).scaleb(-kind.scale), context=_WIDE)
    return exact if exact == number else None


def _binary(text: str) -> bytes | None:
    if _ESCAPED.fullmatch(text):
        return bytes(int(text[at + 2 : at + _ESCAPE_LENGTH], 16) for at in range(0, len(text), _ESCAPE_LENGTH))
    if _SPOILT in text:
        return None
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None
