"""Two sets of balances side by side: equal for every account, or which accounts differ and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """An account whose balance is not what the serial model says, in minor units."""

    account_id: int
    expected_minor: int
    actual_minor: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a comparison; each list is in order of account id."""

    accounts: int  # how many accounts the serial model has
    differing: tuple[Difference, ...]
    missing: tuple[int, ...]  # account ids that only the serial model has
    extra: tuple[int, ...]  # account ids that the serial model does not have

    @property
    def is_equal(self) -> bool:
        """Say whether both hold the same accounts with the same balances."""
        return not (self.differing or self.missing or self.extra)


def compare(expected: Mapping[int, int], actual: Mapping[int, int]) -> Verdict:
    """Compare the balances of the serial model with those of the table, account by account, to the minor unit."""
    differing = tuple(
        Difference(account_id, expected[account_id], actual[account_id])
        for account_id in sorted(expected.keys() & actual.keys())
        if expected[account_id] != actual[account_id]
    )
    return Verdict(
        accounts=len(expected),
        differing=differing,
        missing=tuple(sorted(expected.keys() - actual.keys())),
        extra=tuple(sorted(actual.keys() - expected.keys())),
    )
