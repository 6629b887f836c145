"""The closed set of transaction kinds, and what each of them posts.

Amounts and balances are whole minor units (cents). Three kinds compute their change *from the balance*, so the order
in which jobs land matters to them: they make a bank on which a lost or reordered update shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import assert_never


class Rule(Enum):
    """How an amount becomes a change of the balance."""

    AS_RECORDED = "the signed amount is added"
    REFUSED_IF_OVERDRAWN = "the amount (0 or less) is added, or nothing where that would take the balance below 0"
    PERCENTAGE_OF_BALANCE = "the amount (0 or more) is a rate in percent of a positive balance, rounded down to a cent"
    CAPPED_FEE = "1 % of a positive balance, rounded down to a cent, but never more than the amount (0 or less)"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of transaction; one job posts it."""

    name: str
    rule: Rule
    description: str


KINDS: tuple[Kind, ...] = (
    Kind("cash_deposit", Rule.AS_RECORDED, "Cash paid in at the counter."),
    Kind("pension", Rule.AS_RECORDED, "Pensions paid in."),
    Kind("transfer_in", Rule.AS_RECORDED, "Transfers received from other banks."),
    Kind("cash_withdrawal", Rule.AS_RECORDED, "Cash taken out at the counter or by card."),
    Kind("interest", Rule.AS_RECORDED, "Interest credited, as the bank recorded it."),
    Kind("household", Rule.AS_RECORDED, "Household payments: rent, energy, telephone."),
    Kind("statement_fee", Rule.AS_RECORDED, "Fees for account statements."),
    Kind("transfer_out", Rule.AS_RECORDED, "Transfers sent to other banks."),
    Kind("insurance", Rule.AS_RECORDED, "Insurance premiums."),
    Kind("penalty_interest", Rule.AS_RECORDED, "Interest charged on an overdrawn balance."),
    Kind("loan", Rule.AS_RECORDED, "Loan instalments."),
    Kind("standing_order", Rule.REFUSED_IF_OVERDRAWN, "Standing orders, refused where they would overdraw."),
    Kind(
        "percentage_interest", Rule.PERCENTAGE_OF_BALANCE, "Interest computed from the balance, at a rate in percent."
    ),
    Kind("balance_fee", Rule.CAPPED_FEE, "A fee of 1 % of the balance, up to a cap."),
)

_BY_NAME = {kind.name: kind for kind in KINDS}


def kind_named(name: str) -> Kind:
    """Return the kind of that name.

    Raises:
        KeyError: there is no such kind.
    """
    return _BY_NAME[name]


def change_minor(rule: Rule, *, balance_minor: int, amount_minor: int) -> int | None:
    """Compute what one transaction adds to the balance that it meets (None: it is refused, and adds nothing)."""
    match rule:
        case Rule.AS_RECORDED:
            return amount_minor
        case Rule.REFUSED_IF_OVERDRAWN:
            return None if balance_minor + amount_minor < 0 else amount_minor
        case Rule.PERCENTAGE_OF_BALANCE:
            # The rate 0.25 % arrives as 25 hundredths, so the divisor is 100 for percent times 100 for hundredths.
            return max(balance_minor, 0) * amount_minor // 10_000
        case Rule.CAPPED_FEE:
            return -min(-amount_minor, max(balance_minor, 0) // 100)
    assert_never(rule)


def is_allowed_sign(rule: Rule, amount_minor: int) -> bool:
    """Say whether the rule gives the amount a meaning."""
    match rule:
        case Rule.AS_RECORDED:
            return True
        case Rule.REFUSED_IF_OVERDRAWN | Rule.CAPPED_FEE:
            return amount_minor <= 0
        case Rule.PERCENTAGE_OF_BALANCE:
            return amount_minor >= 0
    assert_never(rule)
