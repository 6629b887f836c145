"""`Pruning.may_hold` never denies a row that is there: what it calls harmless is harmless (promise P3).

Random files of every type that has an order, under every partition transform that the type has, and random conditions.
Which rows a condition is true for is worked out here, in plain Python, from the definition of each comparison.
"""

from __future__ import annotations

import math
import operator
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
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
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
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
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from seriatim.commit.conditions import understood
from seriatim.commit.pruning import Pruning
from tests.faults.bank import Bank

_FIRST = date(1968, 1, 1)
_MIDNIGHT = datetime(1969, 12, 30)  # noqa: DTZ001  # A timestamp without a zone is what the column holds.


def _float32(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


@dataclass(frozen=True)
class Kind:
    """A column type, the values that files and conditions are made of, and the transforms to partition it by."""

    type: PrimitiveType
    value: Callable[[random.Random], Any]
    transforms: tuple[Transform[Any, Any], ...] = ()
    stored: Callable[[Any], Any] = lambda value: value  # what the column makes of a value

    @property
    def arrow(self) -> pa.DataType:
        return schema_to_pyarrow(self.type)


def _any_of(*values: Any) -> Callable[[random.Random], Any]:
    return lambda chance: chance.choice(values)


def _text(chance: random.Random) -> str:
    return chance.choice(("", "aaaa", "aaaab", "aab")) + "".join(
        chance.choices("ab\U0001f600é\uffff\x7f", k=chance.randint(0, 3))
    )


_FLOATS = (math.nan, math.inf, -math.inf, -0.0, 0.0, 0.1, 0.2, 1.5, -1.5, 7.0)
_TIME: tuple[Transform[Any, Any], ...] = (DayTransform(), MonthTransform(), YearTransform())

KINDS: dict[str, Kind] = {
    "int": Kind(
        IntegerType(),
        _any_of(-(2**31), 2**31 - 1, *range(-12, 13)),
        (IdentityTransform(), BucketTransform(4), TruncateTransform(10)),
    ),
    "long": Kind(LongType(), _any_of(-(2**63), 2**63 - 1, *range(-12, 13)), (IdentityTransform(), BucketTransform(4))),
    "bool": Kind(BooleanType(), _any_of(True, False), (IdentityTransform(),)),
    "float": Kind(FloatType(), _any_of(*_FLOATS), (IdentityTransform(),), stored=_float32),
    "double": Kind(DoubleType(), _any_of(*_FLOATS), (IdentityTransform(),)),
    "string": Kind(StringType(), _text, (IdentityTransform(), BucketTransform(4), TruncateTransform(2))),
    "decimal": Kind(
        DecimalType(9, 2),
        lambda chance: Decimal(chance.randint(-300, 300)).scaleb(-2),
        (IdentityTransform(), BucketTransform(4), TruncateTransform(100)),
    ),
    "wide decimal": Kind(DecimalType(30, 3), lambda chance: Decimal(chance.randint(-(10**20), 10**20)).scaleb(-3)),
    "date": Kind(
        DateType(),
        lambda chance: _FIRST + timedelta(days=chance.randint(0, 1200)),
        (IdentityTransform(), BucketTransform(4), *_TIME),
    ),
    "timestamp": Kind(
        TimestampType(),
        lambda chance: _MIDNIGHT + timedelta(hours=chance.randint(0, 96), microseconds=chance.randint(-1, 1)),
        (IdentityTransform(), BucketTransform(4), HourTransform(), *_TIME),
    ),
    "timestamptz": Kind(
        TimestamptzType(),
        lambda chance: (
            _MIDNIGHT.replace(tzinfo=UTC) + timedelta(hours=chance.randint(0, 96), microseconds=chance.randint(-1, 1))
        ),
        (HourTransform(), *_TIME),
    ),
}

CASES = [(name, transform) for name, kind in KINDS.items() for transform in (None, *kind.transforms)]
DISTRUSTED = {
    ("int", "truncate[10]"),  # The smallest integers are truncated to ones that are too small, and wrap around.
    ("decimal", "bucket[4]"),  # 0.10 and 0.11 write other buckets than they look in.
    ("double", "identity"),  # All three versions write the partition's value as a 32-bit float.
}
METRICS: tuple[str, ...] = ("full", "truncate(4)", "counts", "none")

Matches = Callable[[Any], bool]


@pytest.mark.parametrize(("kind", "transform"), CASES, ids=str)
def test_a_file_that_holds_a_matching_row_is_never_ruled_out(
    empty_bank: Bank, kind: str, transform: Transform[Any, Any] | None
) -> None:
    """P3: one False too many, and a commit that changed what was read is taken for harmless."""
    _check(empty_bank, kind, transform, seed=f"{kind} {transform}", conditions=40)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("kind", "transform"), CASES, ids=str)
def test_a_file_that_holds_a_matching_row_is_never_ruled_out_whatever_the_seed(
    empty_bank: Bank, kind: str, transform: Transform[Any, Any] | None, seed: int
) -> None:
    """P3: the same, with other files and many more conditions."""
    _check(empty_bank, kind, transform, seed=f"{kind} {transform} {seed}", conditions=400)


def _check(bank: Bank, kind: str, transform: Transform[Any, Any] | None, *, seed: str, conditions: int) -> None:
    chance = random.Random(seed)
    files = _Files(bank, KINDS[kind], transform, chance)
    ruled_out = 0

    for _ in range(conditions):
        condition, matches = _condition(KINDS[kind], chance, depth=2)
        pruning = Pruning(files.table.metadata, [understood("t", files.table.schema(), condition)])
        for file, values in files.files:
            if pruning.may_hold(file):
                continue
            ruled_out += 1
            assert not any(matches(value) for value in values), f"{condition} in {values}"

    # A judge that always says yes would be right, and of no use.
    assert (ruled_out > 0) == ((kind, str(transform)) not in DISTRUSTED)


class _Files:
    """Files of random values in one table, read back from its manifests."""

    def __init__(self, bank: Bank, kind: Kind, transform: Transform[Any, Any] | None, chance: random.Random) -> None:
        spec = UNPARTITIONED_PARTITION_SPEC
        if transform is not None:
            spec = PartitionSpec(PartitionField(source_id=1, field_id=1000, transform=transform, name="part"))
        bank.create((), schema=Schema(NestedField(1, "v", kind.type, required=False)), spec=spec)
        with bank.rival() as catalog, catalog.load_table(bank.identifier).transaction() as transaction:
            for metrics in METRICS:
                transaction.set_properties({"write.metadata.metrics.default": metrics})
                transaction.append(self._rows(kind, transform, chance))
        self.table: Table = bank.table()
        self.files = [
            (task.file, pq.read_table(Path(task.file.file_path.removeprefix("file://")))["v"].to_pylist())
            for task in self.table.scan().plan_files()
        ]

    def _rows(self, kind: Kind, transform: Transform[Any, Any] | None, chance: random.Random) -> pa.Table:
        null_share = chance.choice((0.0, 0.3, 1.0))
        values = [None if chance.random() < null_share else kind.value(chance) for _ in range(chance.randint(1, 4))]
        if transform is not None:
            values = [
                value for value in values if value is None or value == value
            ]  # No NaN: PyIceberg cannot write it.
        return pa.table({"v": pa.array(values or [None], kind.arrow)})


def _condition(
    kind: Kind, chance: random.Random, depth: int, *, is_negated: bool = False
) -> tuple[BooleanExpression, Matches]:
    """Return a random condition, and for which values it is true; Not is pushed down to the comparisons first."""
    shape = chance.choice(("leaf", "leaf", "and", "or", "not")) if depth else "leaf"
    if shape == "leaf":
        return _comparison(kind, chance, is_negated=is_negated)
    if shape == "not":
        inner, matches = _condition(kind, chance, depth - 1, is_negated=not is_negated)
        return Not(inner), matches
    (left, left_matches), (right, right_matches) = (
        _condition(kind, chance, depth - 1, is_negated=is_negated) for _ in range(2)
    )
    if (shape == "and") != is_negated:
        both: Matches = lambda value: left_matches(value) and right_matches(value)  # noqa: E731
    else:
        both = lambda value: left_matches(value) or right_matches(value)  # noqa: E731
    return (And if shape == "and" else Or)(left, right), both


COMPARISONS: dict[str, tuple[Any, str]] = {
    "<": (LessThan, ">="),
    "<=": (LessThanOrEqual, ">"),
    ">": (GreaterThan, "<="),
    ">=": (GreaterThanOrEqual, "<"),
    "==": (EqualTo, "!="),
    "!=": (NotEqualTo, "=="),
    "in": (In, "not in"),
    "not in": (NotIn, "in"),
    "is null": (IsNull, "not null"),
    "not null": (NotNull, "is null"),
    "is nan": (IsNaN, "not nan"),
    "not nan": (NotNaN, "is nan"),
    "starts": (StartsWith, "not starts"),
    "not starts": (NotStartsWith, "starts"),
}
_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "in": lambda value, literals: value in literals,
    "not in": lambda value, literals: value not in literals,
    "is nan": lambda value, _: bool(value != value),
    "not nan": lambda value, _: bool(value == value),
    "starts": lambda value, prefix: bool(value.startswith(prefix)),
    "not starts": lambda value, prefix: not value.startswith(prefix),
}


def _comparison(kind: Kind, chance: random.Random, *, is_negated: bool) -> tuple[BooleanExpression, Matches]:
    names = [name for name in COMPARISONS if _fits(kind, name)]
    name = chance.choice(names)
    make, opposite = COMPARISONS[name]
    asked = opposite if is_negated else name
    if "null" in name or "nan" in name:
        return make("v"), partial(_is_true, asked, None)
    if "in" in name:
        literals = {_literal(kind, chance) for _ in range(chance.choice((1, 2, 3, 3, 250)))}
        return make("v", literals), partial(_is_true, asked, {kind.stored(literal) for literal in literals})
    literal = _literal(kind, chance)
    if "starts" in name:
        literal = literal[: chance.randint(1, 6)]
    return make("v", literal), partial(_is_true, asked, kind.stored(literal))


def _fits(kind: Kind, name: str) -> bool:
    return ("nan" not in name or isinstance(kind.type, FloatType | DoubleType)) and (
        "starts" not in name or isinstance(kind.type, StringType)
    )


def _literal(kind: Kind, chance: random.Random) -> Any:
    """Return a value to compare with: not NaN, which has a comparison of its own; nor one beyond a 32-bit float."""
    values = iter(lambda: kind.value(chance), None)
    return next(value for value in values if value == value and not (kind.stored is _float32 and math.isinf(value)))


def _is_true(name: str, literal: Any, value: Any) -> bool:
    """Tell whether the comparison is true; comparing NULL never is, but `not in` holds for it, as for PyIceberg."""
    if name in ("is null", "not null"):
        return (value is None) == (name == "is null")
    if value is None:
        return name in ("not in", "not nan")
    return _TESTS[name](value, literal)
