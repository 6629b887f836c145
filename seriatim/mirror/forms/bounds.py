"""Turns a minimum or maximum of Delta's file statistics into a bound of Iceberg's that loses no row.

A bound decides which files a reader leaves out, so it may lie too far out, and never too far in. What Delta's writers
put down (seen with delta-rs 1.6 and Spark) is cut, rounded, and silent about NaN:

- Timestamps are cut to milliseconds: the upper bound is the last microsecond of what may have been cut off.
- Strings are cut, and not every writer raises a maximum that it cuts: of one that is long enough to have been cut, the
  upper bound is what follows its first characters. What stands after a character that was cut in two is not looked at.
- Decimals may have gone through a float, so that beyond 15 digits they lie beside the value: the bound gives way.
- Floats have no upper bound: writers leave NaN out, without a word, and to SQL engines NaN is above every number. The
  lower one gives way, because a float is put down with so few digits that it is another number to a double.
- Booleans, binaries, lists and maps have none: they would rule out next to nothing, or nothing is said of them.
"""

from __future__ import annotations

import struct
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import isfinite
from typing import Final

from pyiceberg.conversions import to_bytes
from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from seriatim.mirror.forms import texts

_CUT_BYTES_MIN: Final = 32  # Spark cuts at 32 characters, delta-rs at 64 bytes.
_KEPT_CHARACTERS: Final = 16  # of a maximum that may be cut: no more than any writer keeps
_REPLACEMENT: Final = "\ufffd"  # for half a character; old Sparks appended it to a cut maximum, which it may be below
_EXACT_DIGITS: Final = 15  # of a decimal, through a double and back
_ROUNDING: Final = Decimal("1e-15")  # relative; conversions and a multiplication cost at most 4.5e-16
_WIDE: Final = Context(prec=100)
_FLOAT_STEP: Final = 2.0**-23  # relative; a column that was once float was put down with the digits that a float needs
_FLOAT_LEAST: Final = 2.0**-149
_DOUBLE_WHOLE_MAX: Final = 2**53
_BITS: Final = {IntegerType: 31, LongType: 63}


def lower_bound(kind: IcebergType, minimum: object) -> bytes | None:
    """Return a lower bound of all values of a column in a file (None: none that is safe)."""
    value: Decimal | float | int | str | None = None
    match kind:
        case IntegerType() | LongType():
            value = _whole(kind, minimum)
        case FloatType() | DoubleType():
            value = _float_below(minimum)
        case DecimalType():
            value = _decimal(kind, minimum, ROUND_FLOOR)
        case DateType():
            value = texts.days(minimum) if isinstance(minimum, str) else None
        case TimestampType() | TimestamptzType():
            value = _micros(kind, minimum, is_upper=False)
        case StringType():
            value = _whole_characters(minimum) if isinstance(minimum, str) else None
        case _:
            pass
    return _bytes(kind, value)


def upper_bound(kind: IcebergType, maximum: object) -> bytes | None:
    """Return an upper bound of all values of a column in a file (None: none that is safe)."""
    value: Decimal | float | int | str | None = None
    match kind:
        case IntegerType() | LongType():
            value = _whole(kind, maximum)
        case DecimalType():
            value = _decimal(kind, maximum, ROUND_CEILING)
        case DateType():
            value = texts.days(maximum) if isinstance(maximum, str) else None
        case TimestampType() | TimestamptzType():
            value = _micros(kind, maximum, is_upper=True)
        case StringType():
            value = _string_above(maximum) if isinstance(maximum, str) else None
        case _:
            pass
    return _bytes(kind, value)


def _bytes(kind: IcebergType, value: Decimal | float | int | str | None) -> bytes | None:
    if value is None or not isinstance(kind, PrimitiveType):
        return None
    try:
        return to_bytes(kind, value)
    except (struct.error, OverflowError):  # The type does not reach so far: no bound is one, too.
        return None


def _number(value: object) -> Decimal | None:
    """Return the number that the statistics have, exactly as they have it, if it is finite."""
    number: Decimal | None
    match value:
        case bool():
            return None
        case int() | Decimal():
            number = Decimal(value)
        case float():
            number = Decimal(repr(value))
        case str():
            number = texts.number(value)
        case _:
            return None
    return number if number is not None and number.is_finite() else None


def _whole(kind: IntegerType | LongType, value: object) -> int | None:
    number = _number(value)
    if number is None or number != number.to_integral_value():
        return None
    if not isinstance(value, int) and abs(number) > _DOUBLE_WHOLE_MAX:
        return None  # It may have gone through a float.
    bits = _BITS[type(kind)]
    return int(number) if -(2**bits) <= number < 2**bits else None


def _float_below(value: object) -> float | None:
    number = _number(value)
    if number is None:
        return None
    below = float(number) - abs(float(number)) * _FLOAT_STEP - _FLOAT_LEAST
    return below if isfinite(below) else None


def _decimal(kind: DecimalType, value: object, rounding: str) -> Decimal | None:
    number = _number(value)
    if number is None:
        return None
    if kind.precision > _EXACT_DIGITS:
        give = _WIDE.multiply(abs(number), _ROUNDING)
        number = _WIDE.add(number, give if rounding == ROUND_CEILING else -give)
    if number and number.adjusted() >= kind.precision - kind.scale:
        return None
    rounded = number.quantize(Decimal(1).scaleb(-kind.scale), rounding=rounding, context=_WIDE)
    return rounded if len(rounded.as_tuple().digits) <= kind.precision else None


def _micros(kind: TimestampType | TimestamptzType, value: object, *, is_upper: bool) -> int | None:
    moment = texts.moment(value) if isinstance(value, str) else None
    if moment is None:
        return None
    if isinstance(kind, TimestamptzType) and moment.offset_s is None:
        return None  # In the time zone of whoever wrote it.
    if isinstance(kind, TimestampType) and moment.offset_s:
        return None
    cut_off = 999 if moment.digits else 999_999
    if is_upper:
        return moment.micros + cut_off
    return moment.micros - cut_off if moment.micros < 0 else moment.micros  # Before 1970 some cut upwards.


def _whole_characters(text: str) -> str:
    """Return the text up to the first character that may have been cut in two."""
    return next((text[:at] for at, char in enumerate(text) if _is_half(char)), text)


def _is_half(char: str) -> bool:
    return char == _REPLACEMENT or "\ud800" <= char <= "\udfff"


def _string_above(text: str) -> str | None:
    certain = _whole_characters(text)
    is_whole = certain == text and len(text.encode()) < _CUT_BYTES_MIN
    return text if is_whole else _next_prefix(certain[:_KEPT_CHARACTERS])


def _next_prefix(prefix: str) -> str | None:
    """Return the least text above every text that begins so (None: there is none)."""
    while prefix:
        head, last = prefix[:-1], ord(prefix[-1])
        if last < 0x10FFFF:
            return head + chr(0xE000 if last == 0xD7FF else last + 1)  # What lies between is no text.
        prefix = head
    return None
