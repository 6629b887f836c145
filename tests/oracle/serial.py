"""What each operation makes of balances, in plain Python: the model that every history of the tests is held against.

An operation is named by what it does; the last part only makes the name a name:

    open|<account>|<balance>|<n>            a new account; nothing if it is there
    put|<account>|<balance>|<n>             that balance, whether or not it is there
    deposit|<account>|<amount>|<n>          nothing if the account is not there
    withdraw|<account>|<amount>|<n>         refused where it would overdraw: such an operation never lands
    transfer|<from>|<to>|<amount>|<n>       nothing where it would overdraw, or without two accounts
    interest|<percent>|<n>                  on every positive balance, rounded down
    close|<account>|<n>                     nothing if the account is not there
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce

Balances = Mapping[int, int]


class RefusedError(Exception):
    """The operation is not to land on these balances."""


def after(balances: Balances, operation: str) -> Balances:
    """Return the balances after one operation.

    Raises:
        RefusedError: it does not land on these.
    """
    what, *rest = operation.split("|")
    numbers = [int(each) for each in rest[:-1]]
    changed = dict(balances)
    match what, numbers:
        case "open", [account, balance]:
            changed.setdefault(account, balance)
        case "put", [account, balance]:
            changed[account] = balance
        case "deposit", [account, amount]:
            if account in changed:
                changed[account] += amount
        case "withdraw", [account, amount]:
            if changed.get(account, 0) < amount:
                raise RefusedError(operation)
            changed[account] -= amount
        case "transfer", [source, target, amount]:
            return _transferred(changed, source, target, amount)
        case "interest", [percent]:
            changed = {one: bal + max(bal, 0) * percent // 100 for one, bal in changed.items()}
        case "close", [account]:
            changed.pop(account, None)
        case _:
            raise ValueError(f"{operation!r} is no operation that the model knows")
    return changed


def _transferred(balances: Balances, source: int, target: int, amount: int) -> Balances:
    if source == target or target not in balances or balances.get(source, 0) < amount:
        return balances
    return {**balances, source: balances[source] - amount, target: balances[target] + amount}


def replay(balances: Balances, operations: Iterable[str]) -> Balances:
    """Return the balances after the operations, in the order given."""
    return reduce(after, operations, balances)
