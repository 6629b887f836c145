"""That no bound made from Delta's statistics loses a row, whatever a writer did to the values."""

from __future__ import annotations

import decimal
import math
import struct
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import EqualTo, GreaterThanOrEqual, LessThanOrEqual
from pyiceberg.expressions.visitors import _InclusiveMetricsEvaluator
from pyiceberg.types import IcebergType, PrimitiveType

from seriatim.mirror.forms.bounds import lower_bound, upper_bound
from seriatim.mirror.forms.kinds import kind_of
from tests.mirror.forms_support import added, field, file_of, form, table

Write = Callable[[Any, bool], object]
"""What a writer puts down for a minimum or (True) a maximum."""
SETTINGS = settings(deadline=None, derandomize=True, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
EPOCH = datetime.fromisoformat("1970-01-01")
ANY_TIME = st.datetimes(datetime.fromisoformat("0001-01-02"), datetime.fromisoformat("9999-12-30"))
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def kind(name: str) -> PrimitiveType:
    """An Iceberg type by Delta's name."""
    found = kind_of(name)
    assert found is not None
    return found


def may_hold(name: str, lower: object, upper: object, condition: Any) -> bool:
    """Whether PyIceberg opens a file with these statistics of column `a`, for a condition."""
    metadata = table(field("a", name))
    stats = {"numRecords": 5, "minValues": {"a": lower}, "maxValues": {"a": upper}, "nullCount": {"a": 0}}
    evaluator = _InclusiveMetricsEvaluator(form(metadata).schema, condition)
    return evaluator.eval(file_of(metadata, added(stats)))


def assert_nothing_is_lost(
    name: str, values: Sequence[Any], write: Write, order: Callable[[Any], Any] = lambda v: v
) -> None:
    """Every value is looked for where the least and the greatest are put down like that."""
    lower, upper = write(min(values, key=order), False), write(max(values, key=order), True)
    for value in values:
        for condition in (EqualTo("a", value), LessThanOrEqual("a", value), GreaterThanOrEqual("a", value)):
            assert may_hold(name, lower, upper, condition), (value, lower, upper)


# Timestamps


def cut_to_ms(value: datetime) -> str:
    """As Spark and delta-rs have it."""
    return value.isoformat(sep="T", timespec="milliseconds")


def cut_towards_the_epoch(value: datetime) -> str:
    """As a writer has it that divides and drops the rest: upwards before 1970."""
    micros = (value - EPOCH) // timedelta(microseconds=1)
    return cut_to_ms(EPOCH + timedelta(milliseconds=math.trunc(micros / 1000)))


@SETTINGS
@given(values=st.lists(ANY_TIME, min_size=1, max_size=4), cut=st.sampled_from([cut_to_ms, cut_towards_the_epoch]))
def test_no_timestamp_is_lost_to_the_cut(values: list[datetime], cut: Callable[[datetime], str]) -> None:
    """Statistics end at milliseconds, values at microseconds."""
    assert_nothing_is_lost("timestamp_ntz", values, lambda value, _: cut(value).replace("T", " "))
    zoned = [value.replace(tzinfo=UTC) for value in values]
    assert_nothing_is_lost("timestamp", zoned, lambda value, _: cut(value.replace(tzinfo=None)) + "Z")


def micros(name: str, text: object) -> tuple[object, object]:
    """The two bounds from one text, as numbers."""
    return bound(name, lower_bound, text), bound(name, upper_bound, text)


def bound(name: str, of: Callable[[IcebergType, object], bytes | None], value: object) -> object:
    """A bound as the value that readers take it for; None: there is none."""
    got = of(kind(name), value)
    return None if got is None else from_bytes(kind(name), got)


@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        ("1970-01-01T00:00:00.001Z", 1_000, 1_999),
        ("1970-01-01T00:00:00Z", 0, 999_999),  # It may have been cut to seconds.
        ("1969-12-31T23:59:59.999Z", -1_999, -1),
        ("1970-01-01T01:00:00.000+01:00", 0, 999),
        ("1969-12-31T16:00:00.000-08:00", 0, 999),
    ],
)
def test_timestamps_give_way_by_what_may_have_been_cut(text: str, lower: int, upper: int) -> None:
    """Spark writes the offset of its session."""
    assert micros("timestamp", text) == (lower, upper)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("timestamp", "1970-01-01 00:00:00.000"),
        ("timestamp_ntz", "1970-01-01T00:00:00.000+01:00"),
        ("timestamp", "+292278994-08-17T07:12:55.807Z"),
        ("timestamp", 5),
        ("timestamp", None),
    ],
)
def test_a_timestamp_that_is_not_certain_is_no_bound(name: str, text: object) -> None:
    """Without a zone it is any of a day's hours."""
    assert micros(name, text) == (None, None)


# Strings


def spark_cuts(value: str, is_max: bool) -> str:
    """As newer Sparks have it: 32 characters, and the greatest of all after a maximum."""
    return value if len(value) <= 32 else value[:32] + ("\U0010ffff" if is_max else "")


def old_spark_cuts(value: str, is_max: bool) -> str:
    """As older Sparks have it, whose last character is below those beyond U+FFFF."""
    return value if len(value) <= 32 else value[:32] + ("\ufffd" if is_max else "")


def cuts_utf16(value: str, is_max: bool) -> str:
    """As a writer has it that cuts UTF-16 at 32, through the middle of a character, and does not raise a maximum."""
    del is_max
    return value.encode("utf-16-le")[:64].decode("utf-16-le", errors="surrogatepass")


def cuts_bytes(value: str, is_max: bool) -> str:
    """As a writer has it that cuts UTF-8 at 32 bytes, and puts a mark for what is left of a character."""
    del is_max
    return value.encode()[:32].decode(errors="replace")


LONG_TEXTS = st.builds(
    lambda head, tail: head + tail,
    st.sampled_from(["", "a" * 30, "é" * 15, "😀" * 7, "\U0010ffff" * 20]),
    st.text(max_size=40),
)


@SETTINGS
@given(
    values=st.lists(LONG_TEXTS, min_size=1, max_size=4),
    cut=st.sampled_from([spark_cuts, old_spark_cuts, cuts_utf16, cuts_bytes]),
)
def test_no_string_is_lost_to_the_cut(values: list[str], cut: Write) -> None:
    """A maximum that was cut is below the values that it was cut from, and writers do not all raise it."""
    assert_nothing_is_lost("string", values, cut)


@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        ("", "", ""),
        ("zebra", "zebra", "zebra"),
        ("x" * 31, "x" * 31, "x" * 31),
        ("x" * 32, "x" * 32, "x" * 15 + "y"),
        ("ab\U0010ffff" + "\U0010ffff" * 30, "ab" + "\U0010ffff" * 31, "ac"),
        ("\U0010ffff" * 40, "\U0010ffff" * 40, None),
        ("x" * 15 + "\ud7ff" + "x" * 20, "x" * 15 + "\ud7ff" + "x" * 20, "x" * 15 + "\ue000"),
        ("abc\ufffd", "abc", "abd"),
        ("abc\ufffdx", "abc", "abd"),
        (5, None, None),
    ],
)
def test_strings_give_way_by_what_may_have_been_cut(text: object, lower: object, upper: object) -> None:
    """Short ones stay as they are, so that files are still ruled out."""
    assert (bound("string", lower_bound, text), bound("string", upper_bound, text)) == (lower, upper)


# Numbers


@SETTINGS
@given(data=st.data(), scale=st.sampled_from([0, 2, 6, 15, 18]), precision=st.sampled_from([15, 18, 20, 38]))
def test_no_decimal_is_lost_to_a_float(data: st.DataObject, scale: int, precision: int) -> None:
    """delta-rs divides in floats, so that beyond 15 digits a minimum may lie above the value that it was."""
    scale = min(scale, precision)
    unscaled = st.integers(-(10**precision) + 1, 10**precision - 1)
    values = [Decimal(n).scaleb(-scale, NO_ROUNDING) for n in data.draw(st.lists(unscaled, min_size=1, max_size=4))]
    name = f"decimal({precision},{scale})"
    for write in (divided, multiplied, as_it_is, as_text):
        assert_nothing_is_lost(name, values, partial(in_column, write, scale))


@pytest.mark.parametrize(
    ("name", "value", "lower", "upper"),
    [
        ("decimal(10,2)", Decimal("1.1"), "1.10", "1.10"),
        ("decimal(10,2)", 1.1, "1.10", "1.10"),
        ("decimal(10,2)", "1.1", "1.10", "1.10"),
        ("decimal(10,2)", 7, "7.00", "7.00"),
        ("decimal(10,2)", Decimal("0.30000000000000004"), "0.30", "0.31"),
        ("decimal(2,2)", 0, "0.00", "0.00"),
        ("decimal(2,2)", Decimal("0.999"), "0.99", None),
        ("decimal(4,2)", 100, None, None),
        ("decimal(20,6)", Decimal("-99999999999999.98"), None, "-99999999999999.880000"),
        ("decimal(20,6)", Decimal("1000.5"), "1000.499999", "1000.500001"),
        ("decimal(10,2)", Decimal("NaN"), None, None),
        ("decimal(10,2)", True, None, None),
        ("decimal(10,2)", "x", None, None),
    ],
)
def test_decimals_are_rounded_outwards(name: str, value: object, lower: str | None, upper: str | None) -> None:
    """To the scale of the column; what its precision does not reach is no bound."""
    got = bound(name, lower_bound, value), bound(name, upper_bound, value)
    assert tuple(None if each is None else str(each) for each in got) == (lower, upper)


@SETTINGS
@given(values=st.lists(NUMBERS, min_size=1, max_size=4))
def test_no_double_is_lost(values: list[float]) -> None:
    """NaN is the greatest of all to SQL engines, and not in the statistics."""
    assert_nothing_is_lost("double", values, lambda value, _: Decimal(repr(value)))
    assert upper_bound(kind("double"), max(values)) is None


@SETTINGS
@given(
    values=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=4),
    name=st.sampled_from(["float", "double"]),
)
def test_no_float_is_lost_also_where_it_has_become_a_double(values: list[float], name: str) -> None:
    """0.7 is what Spark writes for the float 0.69999998807907104, which a widened column holds as that double."""
    assert_nothing_is_lost(name, values, lambda value, _: Decimal(shortest_float(value)))


def test_minus_zero_is_not_lost_below_zero() -> None:
    """Engines that order floats by their bits have -0.0 below 0.0."""
    got = bound("double", lower_bound, 0)

    assert isinstance(got, float)
    assert got < 0


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "Infinity", None, "x", True, Decimal("-1e999")])
def test_what_is_no_finite_number_is_no_bound(value: object) -> None:
    """Some writers put NaN first, some last, some nowhere."""
    assert bound("double", lower_bound, value) is None


@pytest.mark.parametrize("name", ["byte", "short", "integer", "long"])
@SETTINGS
@given(data=st.data())
def test_no_whole_number_is_lost(name: str, data: st.DataObject) -> None:
    """They are exact in JSON."""
    bits = {"byte": 7, "short": 15, "integer": 31, "long": 63}[name]
    values = data.draw(st.lists(st.integers(-(2**bits), 2**bits - 1), min_size=1, max_size=4))
    assert_nothing_is_lost(name, values, lambda value, _: value)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        *(("integer", 2**31, None), ("integer", 1.5, None), ("integer", True, None), ("integer", "x", None)),
        *(("long", 2**63, None), ("long", 2**62 + 1, 2**62 + 1), ("long", Decimal(2**62), None), ("long", 1e18, None)),
        *(("integer", Decimal("7.0"), 7), ("integer", "7", 7), ("long", {"a": 1}, None)),
    ],
)
def test_whole_numbers_that_are_not_certain_are_no_bound(name: str, value: object, expected: object) -> None:
    """Statistics of another type than the column has now, or of a number that went through a float."""
    assert bound(name, lower_bound, value) == expected
    assert bound(name, upper_bound, value) == expected


@SETTINGS
@given(values=st.lists(st.dates(), min_size=1, max_size=4))
def test_no_date_is_lost(values: list[date]) -> None:
    """They are exact."""
    assert_nothing_is_lost("date", values, lambda value, _: value.isoformat())


@pytest.mark.parametrize("name", ["boolean", "binary"])
def test_other_types_have_no_bounds(name: str) -> None:
    """A boolean would rule out little, a binary is text of who knows which bytes."""
    for value in (True, "abc"):
        assert bound(name, lower_bound, value) is None
        assert bound(name, upper_bound, value) is None


# How writers put numbers down

NO_ROUNDING = decimal.Context(prec=60)


def in_column(write: Callable[[Decimal, int], object], scale: int, value: Decimal, is_max: bool) -> object:
    """A decimal of that scale as a writer puts it down."""
    del is_max
    return write(value, scale)


def divided(value: Decimal, scale: int) -> object:
    """Through a division of floats."""
    return Decimal(repr(float(int(value.scaleb(scale, NO_ROUNDING))) / 10.0**scale))


def multiplied(value: Decimal, scale: int) -> object:
    """Through a multiplication of floats, which is worse."""
    return float(int(value.scaleb(scale, NO_ROUNDING))) * 10.0**-scale


def as_it_is(value: Decimal, scale: int) -> object:
    """As Spark does: all digits."""
    del scale
    return value


def as_text(value: Decimal, scale: int) -> object:
    """In quotes."""
    del scale
    return f"{value:f}"


def shortest_float(value: float) -> str:
    """The fewest digits that give the float again."""
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        try:
            if struct.pack("<f", float(text)) == struct.pack("<f", value):
                return text
        except OverflowError:
            continue
    return repr(value)
