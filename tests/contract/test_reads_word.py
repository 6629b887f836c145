"""What a commit depends on, in a form that can be read back."""

from __future__ import annotations

import uuid
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyiceberg import expressions as exp
from pyiceberg.expressions import BooleanExpression
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField

from seriatim.commit import Base, Rewrite, pinned, summary
from seriatim.commit.reads import Reads, decoded, encoded
from tests.contract.apply_support import Deposit, call, settings
from tests.contract.ledger_support import head
from tests.faults.bank import Bank

EXP: Any = exp  # PyIceberg's predicates hide their own __init__.


def _recorded(bank: Bank) -> Reads:
    word = summary.word(head(bank), summary.READS_JSON)
    assert word is not None
    return decoded(word)


@pytest.mark.parametrize(
    "condition",
    [
        exp.AlwaysTrue(),
        exp.AlwaysFalse(),
        EXP.And(EXP.EqualTo("id", 1), EXP.Or(EXP.In("b", ["x", "y"]), EXP.Not(EXP.IsNull("c")))),
        EXP.In("id", list(range(20))),
        EXP.NotIn("b", [True, False]),
        EXP.In("d", [date(2020, 1, 1), date(2020, 1, 2)]),
        EXP.LessThan("t", datetime(2020, 1, 1)),  # noqa: DTZ001  # A column without a zone.
        EXP.GreaterThanOrEqual("f", 1.5),
        EXP.EqualTo("u", uuid.UUID(int=5)),
        EXP.EqualTo("x", Decimal("1.20")),
        EXP.EqualTo("y", b"ab"),
        EXP.NotStartsWith("s", "é"),
        EXP.IsNaN("q"),
    ],
    ids=str,
)
def test_every_condition_is_read_back_as_it_was(condition: BooleanExpression) -> None:
    assert decoded(encoded([condition])) == Reads((condition,), is_cut=False)


def test_what_goes_beyond_the_bound_is_left_out_and_that_is_said() -> None:
    small, large = EXP.EqualTo("id", 1), EXP.In("id", list(range(1000)))

    text = encoded([large, small, small])

    assert len(text) < 600
    assert decoded(text) == Reads((small,), is_cut=True)
    assert decoded(encoded([])) == Reads((), is_cut=False)


def test_a_condition_that_has_no_form_is_left_out_and_not_those_after_it() -> None:
    """A commit does not fail for what is said of it: what another PyIceberg may come to compare with counts as cut."""
    nameless = EXP.EqualTo("id", 1).bind(Schema(NestedField(1, "id", LongType())))
    small = EXP.EqualTo("id", 2)

    assert decoded(encoded([nameless, small])) == Reads((small,), is_cut=True)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"any":[["?","id",1]]}', '{"any":[["=","id",{"odd":1}]]}', '{"any":[7]}']
)
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        decoded(text)


def test_a_change_records_what_it_read_and_what_it_replaces(bank: Bank) -> None:
    call(bank, Deposit(5))
    assert _recorded(bank) == Reads((EXP.EqualTo("id", 1),), is_cut=False)

    def change(base: Base) -> Rewrite:
        return Rewrite(base.read(where="bal > 150"), where="id == 2 or id == 3")

    call(bank, change)
    assert _recorded(bank).conditions == (
        EXP.GreaterThan("bal", 150),
        EXP.Or(EXP.EqualTo("id", 2), EXP.EqualTo("id", 3)),
    )


def test_whatever_pinned_does_depends_on_everything(bank: Bank) -> None:
    def close(table: Table) -> None:
        table.delete("id == 1")

    pinned(bank.connect(), bank.identifier, close, **settings({}))

    assert _recorded(bank) == Reads((exp.AlwaysTrue(),), is_cut=False)
