"""What a commit depends on, as JSON that can be read back: its words alone cannot.

`{"any": [condition, ...]}`: one of the conditions holds for every row that the commit depends on. A condition is
`true`, `false`, `["and", a, b]`, `["or", a, b]`, `["not", a]`, `[operator, column]` or `[operator, column, value, ..]`.
A value is a JSON number, text or boolean; a type that JSON lacks is named: `{"date": 8401}`. `"cut": true` says that
conditions were left out, because the bound was reached or a condition has no such form.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from pyiceberg import expressions as exp
from pyiceberg.expressions import BooleanExpression, LiteralPredicate, Reference, SetPredicate, UnaryPredicate
from pyiceberg.expressions import literals as lit

_BYTES_MAX: Final = 500  # Every snapshot that is kept carries it.
_UNARY: Final[dict[str, Any]] = {"null": exp.IsNull, "not-null": exp.NotNull, "nan": exp.IsNaN, "not-nan": exp.NotNaN}
_COMPARED: Final[dict[str, Any]] = {
    "=": exp.EqualTo,
    "!=": exp.NotEqualTo,
    "<": exp.LessThan,
    "<=": exp.LessThanOrEqual,
    ">": exp.GreaterThan,
    ">=": exp.GreaterThanOrEqual,
    "starts-with": exp.StartsWith,
    "not-starts-with": exp.NotStartsWith,
}
_SETS: Final[dict[str, Any]] = {"in": exp.In, "not-in": exp.NotIn}
_JOINED: Final[dict[str, Any]] = {"and": exp.And, "or": exp.Or}
_NAMES: Final = {class_: name for group in (_UNARY, _COMPARED, _SETS) for name, class_ in group.items()}
_PLAIN: Final = (lit.LongLiteral, lit.DoubleLiteral, lit.StringLiteral, lit.BooleanLiteral)
_TYPED: Final[dict[str, Any]] = {
    "float": lit.FloatLiteral,
    "date": lit.DateLiteral,
    "time": lit.TimeLiteral,
    "timestamp": lit.TimestampLiteral,
}
_BYTES: Final[dict[str, Any]] = {"uuid": lit.UUIDLiteral, "fixed": lit.FixedLiteral, "binary": lit.BinaryLiteral}
_DECIMAL: Final = "decimal"


@dataclass(frozen=True, slots=True)
class Reads:
    """What a commit depends on, as far as it says."""

    conditions: tuple[BooleanExpression, ...]
    is_cut: bool  # True: it depends on more than the conditions tell


def encoded(reads: Sequence[BooleanExpression]) -> str:
    """Return the conditions as JSON, as many as the bound allows."""
    texts: dict[str, None] = {}  # In order, each once.
    is_cut = False
    for condition in reads:
        try:
            text = json.dumps(_content(condition), separators=(",", ":"))
        except TypeError:  # It has no such form.
            is_cut = True
            continue
        if text not in texts and sum(map(len, texts)) + len(text) > _BYTES_MAX:
            is_cut = True
            continue
        texts[text] = None
    cut = ',"cut":true' if is_cut else ""
    return f'{{"any":[{",".join(texts)}]{cut}}}'


def decoded(text: str) -> Reads:
    """Return what `encoded` was given.

    Raises:
        ValueError: the text is of another form.
    """
    try:
        content = json.loads(text)
        return Reads(tuple(map(_condition, content["any"])), bool(content.get("cut", False)))
    except (KeyError, TypeError, AttributeError, IndexError, ArithmeticError) as err:
        raise ValueError(f"not the form of what a commit depends on: {text[:100]!r}") from err


def _content(condition: BooleanExpression) -> Any:
    match condition:
        case exp.AlwaysTrue():
            return True
        case exp.AlwaysFalse():
            return False
        case exp.And():
            return ["and", _content(condition.left), _content(condition.right)]
        case exp.Or():
            return ["or", _content(condition.left), _content(condition.right)]
        case exp.Not():
            return ["not", _content(condition.child)]
        case UnaryPredicate() | LiteralPredicate() | SetPredicate() if isinstance(condition.term, Reference):
            return [_name(condition), condition.term.name, *_values(condition)]
    raise TypeError(f"{condition} has no form in JSON")


def _name(condition: BooleanExpression) -> str:
    if type(condition) not in _NAMES:
        raise TypeError(f"{condition} has no form in JSON")
    return _NAMES[type(condition)]


def _values(condition: BooleanExpression) -> list[Any]:
    match condition:
        case LiteralPredicate():
            return [_value(condition.literal)]
        case SetPredicate():
            return sorted(map(_value, condition.literals), key=json.dumps)
    return []


def _value(literal: Any) -> Any:
    if isinstance(literal, _PLAIN):
        return literal.value
    for name, class_ in (*_TYPED.items(), *_BYTES.items()):
        if isinstance(literal, class_):
            return {name: literal.value.hex() if name in _BYTES else literal.value}
    if isinstance(literal, lit.DecimalLiteral):
        return {_DECIMAL: str(literal.value)}
    raise TypeError(f"{literal!r} has no form in JSON")


def _condition(content: Any) -> BooleanExpression:
    if isinstance(content, bool):
        return exp.AlwaysTrue() if content else exp.AlwaysFalse()
    operator, *rest = content
    if operator in _JOINED:
        joined: BooleanExpression = _JOINED[operator](_condition(rest[0]), _condition(rest[1]))
        return joined
    if operator == "not":
        return exp.Not(_condition(rest[0]))
    column, *values = rest
    literals = [_literal(value) for value in values]
    if operator in _SETS:
        found: BooleanExpression = _SETS[operator](column, literals)
        return found
    compared: BooleanExpression = (_COMPARED | _UNARY)[operator](column, *literals)
    return compared


def _literal(value: Any) -> Any:
    if not isinstance(value, dict):
        return lit.literal(value)
    ((name, content),) = value.items()
    if name == _DECIMAL:
        return lit.DecimalLiteral(Decimal(content))
    return _BYTES[name](bytes.fromhex(content)) if name in _BYTES else _TYPED[name](content)
