"""The values that a condition compares with, as the column can hold them.

PyIceberg takes a value beyond the column's type for a comparison that is true, or false, of every row, also of one
without a value; of others it refuses some (a decimal with other digits) and rounds some (a text, to a whole number).
"""

from __future__ import annotations

import ctypes
import math
import sys
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import Any, Final

from pyiceberg.expressions.literals import (
    DateLiteral,
    DecimalLiteral,
    DoubleLiteral,
    FloatLiteral,
    Literal,
    LongLiteral,
    StringLiteral,
    TimestampLiteral,
)
from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    PrimitiveType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

_EXACTLY: Final = Context(prec=100)  # No column holds as many digits.
_DAY_US: Final = 24 * 60 * 60 * 1_000_000
_FLOAT_MAX: Final = (2 - 2.0**-23) * 2.0**127


@dataclass(frozen=True, slots=True)
class Floor:
    """The greatest value of a column that is not above what it is compared with."""

    literal: Literal[Any] | None  # None: all that the column can hold is above
    is_exact: bool  # whether it is that value itself


def floor_of(type_: IcebergType, literal: Literal[Any]) -> Floor | None:
    """Return the floor of a literal in a column of that type (None: it is NaN, which has no place among the values).

    A number is compared with floats as the nearest of them: 0.1 is the 32-bit float that 0.1 is written as.

    Raises:
        ValueError, TypeError: it is no value to compare such a column with.
    """
    if not isinstance(type_, PrimitiveType):
        raise TypeError(f"a {type_} is compared with nothing but null")
    match type_, literal:
        case (
            IntegerType() | LongType() | FloatType() | DoubleType() | DecimalType(),
            LongLiteral() | FloatLiteral() | DoubleLiteral() | DecimalLiteral() | StringLiteral(),
        ):
            number = _number(literal.value)
            return None if number.is_nan() else _floor_of_number(type_, number)
        case (DateType() | TimeType() | TimestampType() | TimestamptzType(), LongLiteral()):
            bits = 32 if isinstance(type_, DateType) else 64
            floor = _floor_of_integer(bits, Decimal(literal.value))
            return Floor(None if floor.literal is None else floor.literal.to(type_), floor.is_exact)
        case (DateType(), TimestampLiteral()):
            days, rest = divmod(literal.value, _DAY_US)
            return Floor(DateLiteral(days), rest == 0)
    return Floor(literal.to(type_), is_exact=True)


def _number(value: float | Decimal | str) -> Decimal:
    try:
        return Decimal(value)
    except InvalidOperation as err:
        raise ValueError(f"{value!r} is no number") from err


def _floor_of_number(type_: PrimitiveType, number: Decimal) -> Floor:
    match type_:
        case FloatType():
            value, is_exact = _nearest(ctypes.c_float(float(number)).value, number, _FLOAT_MAX)
            return Floor(FloatLiteral(value), is_exact)
        case DoubleType():
            value, is_exact = _nearest(float(number), number, sys.float_info.max)
            return Floor(DoubleLiteral(value), is_exact)
        case DecimalType():
            digits, step = Decimal(10**type_.precision - 1), Decimal(1).scaleb(-type_.scale)
            most = _EXACTLY.multiply(digits, step)
            floor = _floor_between(most.copy_negate(), most, step, number)  # `-` would round
            return Floor(None if floor is None else DecimalLiteral(floor), floor == number)
    return _floor_of_integer(32 if isinstance(type_, IntegerType) else 64, number)


def _floor_of_integer(bits: int, number: Decimal) -> Floor:
    half = 2 ** (bits - 1)
    floor = _floor_between(Decimal(-half), Decimal(half - 1), Decimal(1), number)
    return Floor(None if floor is None else LongLiteral(int(floor)), floor == number)


def _floor_between(least: Decimal, most: Decimal, step: Decimal, number: Decimal) -> Decimal | None:
    if number < least:
        return None
    return most if number > most else number.quantize(step, rounding=ROUND_FLOOR, context=_EXACTLY)


def _nearest(rounded: float, number: Decimal, most: float) -> tuple[float, bool]:
    """Return the float that a number was rounded to, and True; or its floor, where it was rounded to infinity."""
    if math.isinf(rounded) and number.is_finite():
        return (most if number > 0 else -math.inf), False
    return rounded, True
