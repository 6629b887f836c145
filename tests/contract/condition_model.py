"""What conditions mean, in plain Python: columns of every type, literals in range and beyond, three-valued logic.

It shares nothing with what it judges. A verdict is True, False, or None where the condition is NULL.
"""

from __future__ import annotations

import math
import operator
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyiceberg.expressions import (
    And,
    BooleanExpression,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNaN,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    NotEqualTo,
    NotIn,
    NotNaN,
    NotNull,
    NotStartsWith,
    Or,
    StartsWith,
)
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

Verdict = bool | None
Judge = Callable[[Any], Verdict]


# What is compared: values and literals as things that Python compares exactly.


def _number(value: Any) -> Any:
    if isinstance(value, str):
        value = Decimal(value)
    return value if isinstance(value, float) and not math.isfinite(value) else _finite(value)


def _finite(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) and not value.is_finite() else Fraction(value)


def _double(value: Any) -> Any:
    """Return the nearest double; what is beyond the largest stays what it is."""
    number = _number(value)
    try:
        return _number(float(number))
    except OverflowError:
        return number


def _float(value: Any) -> Any:
    number = _double(value)
    try:
        return _number(struct.unpack("<f", struct.pack("<f", float(number)))[0])
    except OverflowError:
        return number


def _days(value: date | datetime | int) -> Any:
    if isinstance(value, datetime):
        return Fraction(_micros(value), 86_400_000_000)
    return value if isinstance(value, int) else (value - date(1970, 1, 1)).days


def _micros(value: datetime | int) -> int:
    if isinstance(value, int):
        return value
    return (value - datetime(1970, 1, 1, tzinfo=value.tzinfo)) // timedelta(microseconds=1)


def _time(value: time | int) -> int:
    if isinstance(value, int):
        return value
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def _bytes(value: UUID | bytes | str) -> bytes:
    return UUID(value).bytes if isinstance(value, str) else value.bytes if isinstance(value, UUID) else value


@dataclass(frozen=True)
class Kind:
    """A column type: values to store, further ones to compare with, and the transforms to partition it by."""

    type: PrimitiveType
    values: tuple[Any, ...]
    beyond: tuple[Any, ...] = ()  # literals that no row can hold
    transforms: tuple[Transform[Any, Any], ...] = ()
    compared: Callable[[Any], Any] = lambda value: value
    stored: Callable[[Any], Any] = lambda value: value  # as Arrow takes it

    def array(self, values: list[Any]) -> pa.Array:
        return pa.array(
            [None if value is None else self.stored(value) for value in values], schema_to_pyarrow(self.type)
        )

    @property
    def literals(self) -> tuple[Any, ...]:
        """What PyIceberg takes as a literal: not NaN, which only a text can be."""
        return (*(value for value in self.values if value == value), *self.beyond)

    @property
    def is_float(self) -> bool:
        return isinstance(self.type, FloatType | DoubleType)


_ZONELESS = datetime(1969, 12, 31, 23)  # noqa: DTZ001  # A timestamp without a zone is what the column holds.
_LAST = datetime(9999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001
_MOMENTS = (*(_ZONELESS + timedelta(hours=18 * n, microseconds=n % 3 - 1) for n in range(4)), _LAST)
_IDS = tuple(UUID(int=number) for number in (0, 1, 2**127 - 1, 2**127, 2**128 - 1))
_FLOATS = (math.nan, math.inf, -math.inf, -0.0, 0.0, 0.1, 0.2, 1.5, -1.5)
_HUGE = (10**400, Decimal("-1e400"), "nan", 7, Decimal("1.5"))
_IDENTITY: tuple[Transform[Any, Any], ...] = (IdentityTransform(),)
_BUCKET = (*_IDENTITY, BucketTransform(4))
_TIME: tuple[Transform[Any, Any], ...] = (DayTransform(), MonthTransform(), YearTransform())

KINDS: dict[str, Kind] = {
    "int": Kind(
        IntegerType(),
        (-(2**31), 2**31 - 1, *range(-12, 13, 3)),
        (2**31, -(2**31) - 1, 10**30, 1.5, Decimal("-0.5"), math.inf, "-3e9", "nan"),
        (*_BUCKET, TruncateTransform(10)),
        _number,
    ),
    "long": Kind(
        LongType(),
        (-(2**63), 2**63 - 1, *range(-12, 13, 3)),
        (2**63, -(2**63) - 1, 1e300, Decimal("2.5"), -math.inf),
        _BUCKET,
        _number,
    ),
    "bool": Kind(BooleanType(), (True, False), (), _IDENTITY),
    "float": Kind(FloatType(), (*_FLOATS, 1e-45, (2 - 2.0**-23) * 2.0**127), (1e39, -1e39, *_HUGE), _IDENTITY, _float),
    "double": Kind(DoubleType(), (*_FLOATS, 5e-324, 1.7976931348623157e308), _HUGE, _IDENTITY, _double),
    "string": Kind(
        StringType(),
        ("", "a", "aaaa", "aaaab", "aab", "aab\U0001f600", "aab\uffff", "é", "\x7f"),
        (),
        (*_BUCKET, TruncateTransform(2)),
    ),
    "decimal": Kind(
        DecimalType(9, 2),
        tuple(Decimal(one) for one in ("-9999999.00", "-1.10", "-0.01", "0.00", "1.10", "2.00", "9999999.99")),
        (Decimal("10000000.00"), Decimal("-1e30"), Decimal("1.1"), Decimal("1.105"), 1, 1.5, "2", "-1.105"),
        (*_BUCKET, TruncateTransform(100)),
        _number,
    ),
    "wide decimal": Kind(
        DecimalType(38, 3),
        tuple(Decimal(one) for one in ("-0.007", "0", "0.007", "9" * 35 + ".999", "-" + "9" * 35)),
        (10**35, Decimal("-1e35"), Decimal("0.0065"), math.inf),
        (),
        _number,
    ),
    "date": Kind(
        DateType(),
        (*(date(1968, 1, 1) + timedelta(days=300 * n) for n in range(5)), date(9999, 12, 31)),
        (2**31, -(2**40), 5, _ZONELESS, datetime(1968, 1, 1), datetime(1968, 1, 1, 5)),  # noqa: DTZ001
        (*_BUCKET, *_TIME),
        _days,
    ),
    "time": Kind(TimeType(), (time(0), time(12, 30), time(23, 59, 59, 999999)), (2**70, -(2**70)), _IDENTITY, _time),
    "timestamp": Kind(TimestampType(), _MOMENTS, (2**70, -(2**70), 5), (*_BUCKET, HourTransform(), *_TIME), _micros),
    "timestamptz": Kind(
        TimestamptzType(),
        tuple(moment.replace(tzinfo=UTC) for moment in _MOMENTS),
        (2**70, -(2**70)),
        (HourTransform(), *_TIME),
        _micros,
    ),
    "uuid": Kind(UUIDType(), _IDS, ("00000000-0000-0000-0000-000000000001",), (BucketTransform(4),), _bytes, _bytes),
    "binary": Kind(BinaryType(), (b"", b"a", b"a\xff", b"a\xff\xff", b"b"), (), _BUCKET),
    "fixed": Kind(FixedType(2), (b"aa", b"a\xff", b"\xff\xff"), (), _BUCKET),
}

CASES = [(name, transform) for name, kind in KINDS.items() for transform in (None, *kind.transforms)]


# Comparisons.

ORDERS: dict[str, tuple[Any, Callable[[Any, Any], bool]]] = {
    "<": (LessThan, operator.lt),
    "<=": (LessThanOrEqual, operator.le),
    ">": (GreaterThan, operator.gt),
    ">=": (GreaterThanOrEqual, operator.ge),
    "==": (EqualTo, operator.eq),
    "!=": (NotEqualTo, operator.ne),
}
_TESTS: dict[Any, Callable[[Any], bool]] = {
    IsNull: lambda value: value is None,
    NotNull: lambda value: value is not None,
    IsNaN: lambda value: value is not None and value != value,
    NotNaN: lambda value: value is None or value == value,
}


def compared(kind: Kind, name: str, literal: Any) -> tuple[BooleanExpression, Judge]:
    """Return a comparison, and what it says of a value."""
    make, compare = ORDERS[name]
    right = kind.compared(literal)
    return make("v", literal), lambda value: None if value is None else compare(kind.compared(value), right)


def among(kind: Kind, literals: list[Any], *, is_in: bool) -> tuple[BooleanExpression, Judge]:
    """Return `in` or `not in`."""
    rights = [kind.compared(literal) for literal in literals]
    judge: Judge = lambda value: (  # noqa: E731
        None if value is None else any(kind.compared(value) == right for right in rights) == is_in
    )
    return (In if is_in else NotIn)("v", literals), judge


def starting(prefix: Any, *, does: bool) -> tuple[BooleanExpression, Judge]:
    """Return `starts with` or its opposite."""
    judge: Judge = lambda value: None if value is None else value.startswith(prefix) == does  # noqa: E731
    return (StartsWith if does else NotStartsWith)("v", prefix), judge


def all_comparisons(kind: Kind) -> Iterator[tuple[BooleanExpression, Judge]]:
    """Yield every operator with every literal, each also under `not`."""
    leaves = [compared(kind, name, literal) for name in ORDERS for literal in kind.literals]
    leaves += [(make("v"), test) for make, test in _TESTS.items()]
    leaves += [among(kind, [one, two], is_in=is_in) for is_in in (True, False) for one, two in _neighbours(kind)]
    if isinstance(kind.type, StringType | BinaryType):
        leaves += [starting(value[:2], does=does) for does in (True, False) for value in kind.values]
    for expression, judge in leaves:
        yield expression, judge
        yield Not(expression), negated(judge)


def _neighbours(kind: Kind) -> Iterator[tuple[Any, Any]]:
    return zip(kind.literals, (*kind.literals[1:], kind.literals[0]), strict=True)


def negated(judge: Judge) -> Judge:
    """Return what `not` says."""
    return lambda value: None if (verdict := judge(value)) is None else not verdict


_RANK = {False: 0, None: 1, True: 2}


def random_condition(kind: Kind, chance: random.Random, depth: int) -> tuple[BooleanExpression, Judge]:
    """Return a random tree of and, or and not, and what it says of a value."""
    shape = chance.choice(("leaf", "leaf", "and", "or", "not")) if depth else "leaf"
    if shape == "leaf":
        return _random_comparison(kind, chance)
    if shape == "not":
        inner, judge = random_condition(kind, chance, depth - 1)
        return Not(inner), negated(judge)
    (left, judge_left), (right, judge_right) = (random_condition(kind, chance, depth - 1) for _ in range(2))
    pick, make = (min, And) if shape == "and" else (max, Or)
    return make(left, right), lambda value: pick(judge_left(value), judge_right(value), key=_RANK.__getitem__)


def _random_comparison(kind: Kind, chance: random.Random) -> tuple[BooleanExpression, Judge]:
    name = chance.choice((*ORDERS, "in", "not in", "test", "starts", "not starts"))
    literals = [chance.choice(kind.literals) for _ in range(chance.choice((1, 2, 3)))]
    if name == "test":
        return chance.choice([(make("v"), test) for make, test in _TESTS.items()])
    if name in ORDERS:
        return compared(kind, name, literals[0])
    if "starts" in name and isinstance(kind.type, StringType | BinaryType):
        return starting(literals[0][: chance.randint(0, 6)], does=name == "starts")
    return among(kind, literals, is_in="not" not in name)
