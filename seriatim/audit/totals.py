"""The totals of a column: exact for whole numbers and decimals, close for floating point."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_DIGITS: Final = 76  # More than any sum of 38 digits needs.

Total = int | Decimal | float


def total_of(tables: Iterable[pa.Table], column: str) -> Total:
    """Return the sum of the column over the tables; nulls do not count."""
    sum_: Total = 0
    for rows in tables:
        values = rows[column]
        if pa.types.is_integer(values.type):
            sum_ = plus(sum_, int(pc.sum(values.cast(pa.decimal128(38))).as_py() or 0))
        elif pa.types.is_floating(values.type):
            numbers = [value for value in values.to_pylist() if value is not None]
            is_plain = all(map(math.isfinite, numbers))
            sum_ = plus(sum_, float(sum(map(Fraction, numbers))) if is_plain else math.nan)
        else:
            sum_ = plus(sum_, _sum_of_decimals(values.to_pylist()))
    return sum_


def plus(one: Total, other: Total) -> Total:
    """Add without rounding, but for floating point."""
    with localcontext() as context:
        context.prec = _DIGITS
        return float(one) + float(other) if isinstance(one, float) or isinstance(other, float) else one + other


def minus(one: Total, other: Total) -> Total:
    """Subtract without rounding, but for floating point."""
    return plus(one, -other)


def is_equal(one: Total, other: Total, *, scale: Total = 1) -> bool:
    """Tell whether two totals are equal; those of floating point may differ by rounding at `scale`."""
    if isinstance(one, float) or isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9 * max(1.0, abs(float(scale))))
    return one == other


def _sum_of_decimals(values: list[Any]) -> Total:
    with localcontext() as context:
        context.prec = _DIGITS
        return sum((value for value in values if value is not None), Decimal(0))
