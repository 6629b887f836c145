"""What the partition values of a Delta log are to Iceberg."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from pyiceberg.typedef import Record

from seriatim.errors import MirrorError
from seriatim.mirror.forms.partition_values import partition_record
from tests.mirror.forms_support import MAPPED, SOURCE, added, field, form, mapped, table

DAY_US = 86_400_000_000


def value_of(kind: str, text: str | None) -> object:
    """The value that a partition column of that type has."""
    metadata = table(field("a", "long"), field("p", kind), by=("p",))
    record = partition_record(SOURCE, 7, added(values={"p": text}), form(metadata), metadata)
    assert len(record) == 1
    return record[0]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        *(
            ("string", text, text)
            for text in ["a/b%c=d&e é", "%20", " ", "null", "\\u0061", "__HIVE_DEFAULT_PARTITION__"]
        ),
        *(("boolean", "true", True), ("boolean", "false", False), ("boolean", "False", False)),
        *(("byte", "-128", -128), ("short", "+7", 7), ("integer", "2147483647", 2**31 - 1)),
        *(("long", "-9223372036854775808", -(2**63)), ("long", "0", 0)),
        *(("double", "-1.5E-7", -1.5e-7), ("double", "9.9", 9.9), ("double", "1e300", 1e300)),
        *(("float", "1.1", 1.100000023841858), ("float", "Infinity", math.inf), ("float", "-inf", -math.inf)),
        *(("decimal(10,2)", "1.1", Decimal("1.10")), ("decimal(10,2)", "-0.01", Decimal("-0.01"))),
        *(("decimal(2,2)", "0.00", Decimal("0.00")), ("decimal(38,0)", "9" * 38, Decimal("9" * 38))),
        *(("decimal(10,2)", "1.100", Decimal("1.10")), ("decimal(10,2)", "1E+2", Decimal("100.00"))),
        *(("date", "1970-01-02", 1), ("date", "1500-01-01", -171_664), ("date", "9999-12-31", 2_932_896)),
        *(("timestamp", "1970-01-02 00:00:00", DAY_US), ("timestamp", "1970-01-02 00:00:00.000000", DAY_US)),
        *(("timestamp", "1970-01-01 00:00:00.5", 500_000), ("timestamp", "1969-12-31 23:59:59.999999", -1)),
        *(("timestamp", "1970-01-01T01:02:03.000004Z", 3_723_000_004), ("timestamp", "1970-01-02", DAY_US)),
        *(("timestamp", "1970-01-02T00:00:00+02:00", DAY_US - 7_200_000_000), ("timestamp", "1970-01-01 00:00", 0)),
        *(("timestamp", "1970-01-02 00:00:00-0130", DAY_US + 5_400_000_000),),
        *(
            ("timestamp", "1970-01-01 00:00:00.123456000", 123_456),
            ("timestamp", "1970-01-01T00:00:01.000UTC", 1_000_000),
        ),
        *(
            ("timestamp_ntz", "1960-01-01 00:00:00.123456", -315_619_199_876_544),
            ("timestamp_ntz", "1970-01-02T00:00:00Z", DAY_US),
        ),
        *(("binary", "\x01\x02\x03", b"\x01\x02\x03"), ("binary", "é", "é".encode())),
        *(("binary", r"\u0000\u00FF\u0061", b"\x00\xffa"), ("binary", r"\u0061b", rb"\u0061b")),
    ],
)
def test_each_spelling_is_read(kind: str, text: str, value: object) -> None:
    """The protocol's, and what delta-rs and Spark write."""
    got = value_of(kind, text)

    assert got == value
    assert type(got) is type(value)
    assert str(got) == str(value)  # The scale of a decimal too.


@pytest.mark.parametrize(
    "kind", ["string", "long", "double", "decimal(10,2)", "date", "timestamp", "boolean", "binary"]
)
@pytest.mark.parametrize("text", [None, ""])
def test_nothing_is_null(kind: str, text: str | None) -> None:
    """An empty text is null for every type, strings too."""
    assert value_of(kind, text) is None


def test_nan_and_minus_zero_are_kept() -> None:
    """Both are partitions of their own."""
    nan, zero = value_of("double", "NaN"), value_of("float", "-0")

    assert isinstance(nan, float)
    assert math.isnan(nan)
    assert math.copysign(1, zero) == -1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *(
            ("boolean", "1"),
            ("boolean", "yes"),
            ("integer", "2147483648"),
            ("long", "1_0"),
            ("long", "1.0"),
            ("long", " 1"),
        ),
        *(("double", "1_0"), ("double", "x"), ("double", " 1"), ("float", "1e300")),
        *(("decimal(10,2)", "1.001"), ("decimal(4,2)", "100"), ("decimal(10,2)", "NaN"), ("decimal(10,2)", "1e-900")),
        *(("date", "1970-13-01"), ("date", "10000-01-01"), ("date", "today"), ("date", "1970-01-01T00:00:00Z")),
        *(("timestamp", "1970-01-01 25:00:00"), ("timestamp", "1970-01-01 00:00:00.0000001"), ("timestamp", "now")),
        *(("timestamp_ntz", "1970-01-01T00:00:00+02:00"), ("binary", "a\ufffd"), ("binary", "\ud800")),
    ],
)
def test_what_is_no_value_of_the_type_is_refused_with_all_that_is_known(kind: str, text: str) -> None:
    """A wrong partition value would be in every row of the file."""
    with pytest.raises(MirrorError) as refused:
        value_of(kind, text)

    assert "version 7" in str(refused.value)
    assert "'p'" in str(refused.value)
    assert repr(text) in str(refused.value)


def test_a_value_that_is_missing_is_refused() -> None:
    """It would silently be null."""
    metadata = table(field("p", "long"), by=("p",))
    with pytest.raises(MirrorError, match="'p'"):
        partition_record(SOURCE, 7, added(values={}), form(metadata), metadata)


def test_values_are_found_by_physical_name_and_come_in_the_order_of_the_spec() -> None:
    """Delta's order of partition columns is not that of the schema."""
    metadata = table(
        mapped("a", "col-a", 1, "long"), mapped("b", "col-b", 2, "string"), by=("b", "a"), configuration=MAPPED
    )
    add = added(values={"col-a": "1", "col-b": "x", "b": "wrong"})

    assert partition_record(SOURCE, 7, add, form(metadata), metadata) == Record("x", 1)


def test_a_table_without_partitions_has_an_empty_record() -> None:
    """Whatever is said of values."""
    metadata = table(field("p", "long"))

    assert partition_record(SOURCE, 7, added(values={"p": "1"}), form(metadata), metadata) == Record()
