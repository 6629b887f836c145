"""A few accounts, one operation after another: the serial model of the tests that need no bank.

An operation is named by what it does, so that the order in which a table says the names landed is all there is to know:
`deposit|<account>|<amount>|<n>`, `transfer|<from>|<to>|<amount>|<n>` (refused where it would overdraw) and
`interest|<percent>|<n>` (on every positive balance, rounded down). The last part only makes the name a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import floor

from oracle.errors import UnknownOperationError


def replay_accounts(balances: Mapping[int, int], operations: Iterable[str]) -> dict[int, int]:
    """Work out the balances after the operations, in the order given.

    Raises:
        UnknownOperationError: an operation's name says nothing that is known here.
    """
    result = dict(balances)
    for operation in operations:
        match operation.split("|"):
            case ["deposit", account, amount, _]:
                result[int(account)] += int(amount)
            case ["transfer", source, target, amount, _] if result[int(source)] >= int(amount):
                result[int(source)] -= int(amount)
                result[int(target)] += int(amount)
            case ["transfer", _, _, _, _]:
                pass
            case ["interest", percent, _]:
                for account_id, balance in result.items():
                    result[account_id] += floor(Fraction(max(balance, 0) * int(percent), 100))
            case _:
                raise UnknownOperationError(operation)
    return result
