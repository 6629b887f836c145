"""What each kind of transaction posts."""

from __future__ import annotations

import pytest

from assets.kinds import KINDS, Rule, change_minor, is_allowed_sign, kind_named


def test_the_kinds_are_a_closed_set_of_fourteen() -> None:
    """The eleven of the real bank year post as recorded; the three others compute their change from the balance."""
    as_recorded = {kind.name for kind in KINDS if kind.rule is Rule.AS_RECORDED}
    computed = {kind.name: kind.rule for kind in KINDS if kind.rule is not Rule.AS_RECORDED}

    assert len(KINDS) == 14
    assert as_recorded == {
        *("cash_deposit", "pension", "transfer_in", "cash_withdrawal", "interest", "household", "statement_fee"),
        *("transfer_out", "insurance", "penalty_interest", "loan"),
    }
    assert computed == {
        "standing_order": Rule.REFUSED_IF_OVERDRAWN,
        "percentage_interest": Rule.PERCENTAGE_OF_BALANCE,
        "balance_fee": Rule.CAPPED_FEE,
    }


def test_a_kind_is_found_by_its_name() -> None:
    """Names are exact: another spelling is another kind, and there is none."""
    assert all(kind_named(kind.name) is kind for kind in KINDS)
    with pytest.raises(KeyError):
        kind_named("Pension")


@pytest.mark.parametrize(
    ("rule", "balance_minor", "amount_minor", "change"),
    [
        pytest.param(Rule.AS_RECORDED, 100, 250, 250, id="a recorded credit"),
        pytest.param(Rule.AS_RECORDED, 100, -250, -250, id="a recorded debit may overdraw"),
        pytest.param(Rule.REFUSED_IF_OVERDRAWN, 250, -250, -250, id="a standing order may empty the account"),
        pytest.param(Rule.REFUSED_IF_OVERDRAWN, 249, -250, None, id="one cent short is refused"),
        pytest.param(Rule.REFUSED_IF_OVERDRAWN, -1, -250, None, id="an overdrawn account is refused"),
        pytest.param(Rule.PERCENTAGE_OF_BALANCE, 100_000, 25, 250, id="0.25 % of 1000.00 is 2.50"),
        pytest.param(Rule.PERCENTAGE_OF_BALANCE, 100_399, 25, 250, id="2.509975 is rounded down"),
        pytest.param(Rule.PERCENTAGE_OF_BALANCE, 399, 25, 0, id="less than a cent is nothing"),
        pytest.param(Rule.PERCENTAGE_OF_BALANCE, 0, 25, 0, id="no interest on nothing"),
        pytest.param(Rule.PERCENTAGE_OF_BALANCE, -100_000, 25, 0, id="no interest on a debt"),
        pytest.param(Rule.PERCENTAGE_OF_BALANCE, 2**63 - 1, 10_000, 2**63 - 1, id="100 % of the largest balance"),
        pytest.param(Rule.CAPPED_FEE, 100_000, -5_000, -1_000, id="1 % where that is less than the cap"),
        pytest.param(Rule.CAPPED_FEE, 1_000_000, -5_000, -5_000, id="the cap where 1 % is more"),
        pytest.param(Rule.CAPPED_FEE, 199, -5_000, -1, id="1 % is rounded down"),
        pytest.param(Rule.CAPPED_FEE, 0, -5_000, 0, id="no fee on nothing"),
        pytest.param(Rule.CAPPED_FEE, -100_000, -5_000, 0, id="no fee on a debt"),
    ],
)
def test_a_rule_posts(rule: Rule, balance_minor: int, amount_minor: int, change: int | None) -> None:
    """Whole cents only, rounded down; None says refused, which is not the same as a change of 0."""
    assert change_minor(rule, balance_minor=balance_minor, amount_minor=amount_minor) == change


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        (Rule.AS_RECORDED, [-1, 0, 1]),
        (Rule.REFUSED_IF_OVERDRAWN, [-1, 0]),
        (Rule.PERCENTAGE_OF_BALANCE, [0, 1]),
        (Rule.CAPPED_FEE, [-1, 0]),
    ],
)
def test_a_rule_says_which_signs_have_a_meaning(rule: Rule, allowed: list[int]) -> None:
    """A fee that credits, or a negative rate, is a mistake in the file and not a rule of the bank."""
    assert [sign for sign in (-1, 0, 1) if is_allowed_sign(rule, sign)] == allowed
