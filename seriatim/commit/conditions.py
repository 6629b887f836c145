"""Conditions on rows, brought into one form in which all that takes them takes them to mean the same.

What a condition means is SQL's three-valued logic. A comparison with NULL is null, also under `not`, and so is `in`;
a row is selected when its condition is true. `is null` and `is nan` are tests: true or false, never null. NaN is
compared as IEEE and Arrow do: it equals nothing and is neither below nor above anything, so that `x != 5` and
`not x < 5` are true for it, `x < 5` and `x >= 5` are not. A number beyond what the column can hold is compared all the
same: every value of the column is below it, or above.

PyIceberg itself compares a condition with a file's partition and bounds in one way, with its rows in another, and
Arrow with the statistics inside of the file in a third. They differ over NaN, over NULL, over values that the column
cannot hold, and over fields inside of structs: which rows a change reads would depend on how they lie in files, and a
file that holds such a row be taken for one that cannot (promise P3). So files are chosen by what is `provable` of the
condition, and rows by its mask (`masks.py`), for reads and edits alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeVar

from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
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
    NotEqualTo,
    NotIn,
    NotNaN,
    NotNull,
    NotStartsWith,
    Or,
    StartsWith,
)
from pyiceberg.expressions.parser import parse
from pyiceberg.expressions.visitors import BooleanExpressionVisitor, visit
from pyiceberg.schema import Schema
from pyiceberg.types import BinaryType, DoubleType, FloatType, IcebergType, NestedField, StringType, StructType

from seriatim.commit.literals import floor_of
from seriatim.errors import InvalidChangeError

_TEXT_MAX: Final = 300

T = TypeVar("T")


def understood(table: str, schema: Schema, where: BooleanExpression | str) -> BooleanExpression:
    """Return a condition without `not` that is true for the same rows, and whose comparisons are never null.

    Raises:
        InvalidChangeError: it cannot be parsed, or does not fit the table's columns.
    """
    try:
        return visit(_parsed(where), _ThreeValued(schema)).true
    except Exception as err:  # PyIceberg's parser and schema raise what they meet.
        raise InvalidChangeError(
            f"{table}: where={_short(repr(where))} cannot be understood: {_short(str(err))}. The columns are "
            f"{schema.column_names}. Nothing was written."
        ) from err


def _parsed(where: BooleanExpression | str) -> BooleanExpression:
    """Return the condition; a short text, which is parsed for longer than all else is done with it, once."""
    if not isinstance(where, str):
        return where
    return _of_text(where) if len(where) <= _TEXT_MAX else parse(where)


@lru_cache(maxsize=256)
def _of_text(where: str) -> BooleanExpression:
    return parse(where)


def _short(text: str) -> str:
    """Return a text that may hold a million values, or a whole grammar, so that a person can read it."""
    return text if len(text) <= _TEXT_MAX else text[: _TEXT_MAX - 3] + "..."


def names_in(condition: BooleanExpression) -> frozenset[str]:
    """Return the columns, and the fields inside of them, that an understood condition is about."""
    return visit(condition, _Names())


def path_of(schema: Schema, name: str) -> tuple[str, ...]:
    """Return the names that lead to a field through the structs that it is inside of.

    Raises:
        ValueError: there is none, or it is inside of a list or a map, of which a row has many or none.
    """
    path = _path(schema.fields, schema.find_field(name, case_sensitive=True).field_id)
    if path is None:
        raise ValueError(f"{name} is inside of a list or a map")
    return path


def _path(fields: Sequence[NestedField], field_id: int) -> tuple[str, ...] | None:
    for field in fields:
        if field.field_id == field_id:
            return (field.name,)
        inner = _path(field.field_type.fields, field_id) if isinstance(field.field_type, StructType) else None
        if inner is not None:
            return (field.name, *inner)
    return None


class Understood(BooleanExpressionVisitor[T]):
    """Visits understood conditions."""

    def visit_not(self, child_result: T) -> T:
        """Refuse it: an understood condition has none."""
        raise TypeError(f"an understood condition has no `not`: {child_result}")

    def visit_bound_predicate(self, predicate: Any) -> T:
        """Refuse it: an understood condition is about names."""
        raise TypeError(f"{predicate} is bound to a schema already")


class _Names(Understood[frozenset[str]]):
    """Collects the names."""

    def visit_true(self) -> frozenset[str]:
        return frozenset()

    def visit_false(self) -> frozenset[str]:
        return frozenset()

    def visit_and(self, left_result: frozenset[str], right_result: frozenset[str]) -> frozenset[str]:
        return left_result | right_result

    def visit_or(self, left_result: frozenset[str], right_result: frozenset[str]) -> frozenset[str]:
        return left_result | right_result

    def visit_unbound_predicate(self, predicate: Any) -> frozenset[str]:
        return frozenset({predicate.term.name})


@dataclass(frozen=True, slots=True)
class _Truth:
    """When a condition is true and when it is false; for other rows it is null."""

    true: BooleanExpression
    false: BooleanExpression

    def __invert__(self) -> _Truth:
        return _Truth(self.false, self.true)


class _ThreeValued(BooleanExpressionVisitor[_Truth]):
    """Works out when a condition is true and when it is false."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def visit_true(self) -> _Truth:
        return _Truth(AlwaysTrue(), AlwaysFalse())

    def visit_false(self) -> _Truth:
        return _Truth(AlwaysFalse(), AlwaysTrue())

    def visit_not(self, child_result: _Truth) -> _Truth:
        return ~child_result

    def visit_and(self, left_result: _Truth, right_result: _Truth) -> _Truth:
        return _Truth(And(left_result.true, right_result.true), Or(left_result.false, right_result.false))

    def visit_or(self, left_result: _Truth, right_result: _Truth) -> _Truth:
        return _Truth(Or(left_result.true, right_result.true), And(left_result.false, right_result.false))

    def visit_bound_predicate(self, predicate: Any) -> _Truth:
        raise TypeError(f"{predicate} is bound to a schema already")

    def visit_unbound_predicate(self, predicate: Any) -> _Truth:
        if isinstance(predicate, NotNull | NotNaN | NotIn | NotEqualTo | NotStartsWith):
            return ~self.visit_unbound_predicate(~predicate)
        name: str = predicate.term.name
        path_of(self._schema, name)
        return _TRUTHS[type(predicate)](name, self._schema.find_type(name, case_sensitive=True), predicate)


def _is_null(name: str, _: IcebergType, __: Any) -> _Truth:
    return _Truth(IsNull(name), NotNull(name))


def _is_nan(name: str, type_: IcebergType, _: Any) -> _Truth:
    if isinstance(type_, FloatType | DoubleType):
        return _Truth(IsNaN(name), NotNaN(name))
    return _Truth(AlwaysFalse(), AlwaysTrue())


def _starts_with(name: str, type_: IcebergType, predicate: Any) -> _Truth:
    if not isinstance(type_, StringType | BinaryType):
        raise TypeError(f"{name} is a {type_}, which starts with nothing")
    prefix = predicate.literal.to(type_)
    return _Truth(StartsWith(name, prefix), NotStartsWith(name, prefix))


def _is_in(name: str, type_: IcebergType, predicate: Any) -> _Truth:
    floors = [floor_of(type_, literal) for literal in predicate.literals]
    values = {floor.literal for floor in floors if floor is not None and floor.is_exact}
    return _Truth(In(name, values), NotIn(name, values)) if values else _never(name)


def _is_equal(name: str, type_: IcebergType, predicate: Any) -> _Truth:
    floor = floor_of(type_, predicate.literal)
    if floor is None or not floor.is_exact:
        return _never(name)
    return _Truth(EqualTo(name, floor.literal), NotEqualTo(name, floor.literal))


def _is_ordered(name: str, type_: IcebergType, predicate: Any) -> _Truth:
    floor = floor_of(type_, predicate.literal)
    if floor is None:
        return _never(name)
    below: BooleanExpression = AlwaysFalse()
    above: BooleanExpression = NotNull(name)
    if floor.literal is not None and floor.is_exact and isinstance(predicate, LessThan | GreaterThanOrEqual):
        below, above = LessThan(name, floor.literal), GreaterThanOrEqual(name, floor.literal)
    elif floor.literal is not None:
        below, above = LessThanOrEqual(name, floor.literal), GreaterThan(name, floor.literal)
    true, false = (below, above) if isinstance(predicate, LessThan | LessThanOrEqual) else (above, below)
    return _Truth(true, Or(false, IsNaN(name)) if isinstance(type_, FloatType | DoubleType) else false)


def _never(name: str) -> _Truth:
    """Return what is false for every value of the column."""
    return _Truth(AlwaysFalse(), NotNull(name))


_TRUTHS: Final[dict[type, Callable[[str, IcebergType, Any], _Truth]]] = {
    IsNull: _is_null,
    IsNaN: _is_nan,
    StartsWith: _starts_with,
    In: _is_in,
    EqualTo: _is_equal,
    LessThan: _is_ordered,
    LessThanOrEqual: _is_ordered,
    GreaterThan: _is_ordered,
    GreaterThanOrEqual: _is_ordered,
}
