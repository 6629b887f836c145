"""What the stored columns mean: ids, business days, kinds and amounts, converted exactly or refused by row.

Vectorised; a row is looked for only once it is known that one is bad. The columns have no nulls.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assets.errors import Problem, TransactionsError
from assets.transaction_file import Column

_INTEGER = r"^-?[0-9]+$"
_DAY = r"^(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
_TIME = r"([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?$"
_MIDNIGHT = r"([ T]00:00(:00(\.0+)?)?)?$"
_NUMBER = r"^-?[0-9]+(\.[0-9]+)?$"
_CENTS = r"^(?P<whole>-?[0-9]+)(?:\.(?P<cents>[0-9]{1,2})0*)?$"
_HUNDRED = pa.scalar(Decimal(100), pa.decimal128(3, 0))
# A float holds every number of 15 significant digits; beyond that two neighbouring cents can be one float.
_FLOAT_LIMIT = 1e13


def integers(column: Column) -> pa.ChunkedArray:
    """Return ids as int64: from stored integers, or from text of digits."""
    if pa.types.is_integer(column.values.type):
        return column.convert(lambda values: values.cast(pa.int64()), Problem.OUT_OF_RANGE)
    if pa.types.is_string(column.values.type):
        column.require(pc.match_substring_regex(column.values, _INTEGER), Problem.NOT_AN_INTEGER)
        return column.convert(lambda values: values.cast(pa.int64()), Problem.OUT_OF_RANGE)
    if pa.types.is_floating(column.values.type):
        # Refused even where all are whole: beyond 2**53 two ids can be one float. Name the plainest culprit.
        column.require(pc.equal(pc.floor(column.values), column.values), Problem.NOT_AN_INTEGER)
    raise _wrong_type(column)


def dates(column: Column) -> pa.ChunkedArray:
    """Return business days as date32: from dates, from timestamps at midnight, or from ISO text."""
    kind = column.values.type
    if pa.types.is_date(kind):
        days = column.values.cast(pa.date32())
    elif pa.types.is_timestamp(kind) and kind.tz is None:  # With a time zone, the day would depend on the reader's.
        is_midnight = pc.equal(pc.floor_temporal(column.values, unit="day"), column.values)
        column.require(is_midnight, Problem.NOT_A_WHOLE_DAY)
        days = column.values.cast(pa.date32())
    elif pa.types.is_string(kind):
        column.require(pc.match_substring_regex(column.values, _DAY + _TIME), Problem.NOT_A_DATE)
        column.require(pc.match_substring_regex(column.values, _DAY + _MIDNIGHT), Problem.NOT_A_WHOLE_DAY)
        days = column.convert(
            lambda values: pc.utf8_slice_codeunits(values, 0, 10).cast(pa.date32()),
            Problem.NOT_A_DATE,
        )
    else:
        raise _wrong_type(column)
    in_calendar = pc.and_(pc.greater_equal(days, pa.scalar(date.min)), pc.less_equal(days, pa.scalar(date.max)))
    column.require(in_calendar, Problem.NOT_A_DATE)
    return days


def kinds(column: Column, known: Iterable[str]) -> pa.ChunkedArray:
    """Return the kinds' names, all of which are known."""
    if not pa.types.is_string(column.values.type):
        raise _wrong_type(column)
    column.require(pc.is_in(column.values, value_set=pa.array(known, pa.string())), Problem.UNKNOWN_KIND)
    return column.values


def amounts_minor(column: Column) -> pa.ChunkedArray:
    """Return amounts as int64 minor units: from decimals, whole numbers of major units, floats, or text; exactly."""
    kind = column.values.type
    if pa.types.is_decimal(kind):
        return _from_decimals(column)
    if pa.types.is_integer(kind):
        return column.convert(lambda values: pc.multiply_checked(values.cast(pa.int64()), 100), Problem.OUT_OF_RANGE)
    if pa.types.is_float64(kind):
        return _from_floats(column)
    if pa.types.is_string(kind):
        return _from_text(column)
    raise _wrong_type(column)


def _from_decimals(column: Column) -> pa.ChunkedArray:
    wide = column.convert(lambda values: values.cast(pa.decimal256(76, 2)), Problem.TOO_PRECISE)
    # 19 digits hold the whole of int64; the last cast refuses what lies between the two.
    return Column(column.place, column.name, wide).convert(
        lambda values: pc.multiply(values.cast(pa.decimal128(19, 2)), _HUNDRED).cast(pa.int64()),
        Problem.OUT_OF_RANGE,
    )


def _from_floats(column: Column) -> pa.ChunkedArray:
    values = column.values
    column.require(pc.is_finite(values), Problem.NOT_AN_AMOUNT)
    column.require(pc.less(pc.abs(values), _FLOAT_LIMIT), Problem.OUT_OF_RANGE)
    minor = pc.round(pc.multiply(values, 100.0))
    # Dividing gives the float nearest to the decimal, so equality says that this decimal is what was meant.
    column.require(pc.equal(pc.divide(minor, 100.0), values), Problem.TOO_PRECISE)
    return minor.cast(pa.int64())


def _from_text(column: Column) -> pa.ChunkedArray:
    column.require(pc.match_substring_regex(column.values, _NUMBER), Problem.NOT_AN_AMOUNT)
    column.require(pc.match_substring_regex(column.values, _CENTS), Problem.TOO_PRECISE)
    return column.convert(_digits_to_minor, Problem.OUT_OF_RANGE)


def _digits_to_minor(text: Any) -> Any:
    parts = pc.extract_regex(text, pattern=_CENTS)
    cents = pc.utf8_rpad(pc.struct_field(parts, "cents"), 2, padding="0")
    return pc.binary_join_element_wise(pc.struct_field(parts, "whole"), cents, "").cast(pa.int64())


def _wrong_type(column: Column) -> TransactionsError:
    return TransactionsError(column.place, Problem.WRONG_TYPE, column=column.name, value=str(column.values.type))
