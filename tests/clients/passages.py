"""The ways in which a commit request is replayed, and what must be true after each, whoever the client is."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest
from pyiceberg.catalog import Catalog

from seriatim.commit import NoChange, Receipt
from seriatim.errors import ConflictError, OutcomeUnknownError
from tests.clients.replaying_proxy import Passage, ReplayingProxy, Sent
from tests.contract.apply_support import call
from tests.faults.bank import Bank
from tests.faults.deeds import DEEDS, Deed, nothing

RIVALS: Final = 10  # What a rival deposits on account 2, which no deed changes by a fixed value.

# Those in whose name there is a rival let it commit between two copies, or before the first one.
PASSAGES: Final = {
    "twice, second heard": Passage((Sent.AT_ONCE, Sent.AT_ONCE), heard=1),
    "twice, first heard": Passage((Sent.AT_ONCE, Sent.AT_ONCE), heard=0),
    "twice, nothing heard": Passage((Sent.AT_ONCE, Sent.AT_ONCE), heard=None),
    "once, nothing heard": Passage((Sent.AT_ONCE,), heard=None),
    "lost, nothing heard": Passage((), heard=None),
    "once, heard 500": Passage((Sent.AT_ONCE,), heard=500),
    "once, heard 503": Passage((Sent.AT_ONCE,), heard=503),
    "rival between, second heard": Passage((Sent.AT_ONCE, Sent.AFTER_MEANWHILE), heard=1),
    "rival between, nothing heard": Passage((Sent.AT_ONCE, Sent.AFTER_MEANWHILE), heard=None),
    "rival before both, second heard": Passage((Sent.AFTER_MEANWHILE, Sent.AFTER_MEANWHILE), heard=1),
    "rival before both, nothing heard": Passage((Sent.AFTER_MEANWHILE, Sent.AFTER_MEANWHILE), heard=None),
    "late, before the next": Passage((Sent.BEFORE_NEXT,), heard=None),
    "late, after the next": Passage((Sent.AFTER_NEXT,), heard=None),
    "late, when all is over": Passage((Sent.AT_THE_END,), heard=None),
    "heard, and again when all is over": Passage((Sent.AT_ONCE, Sent.AT_THE_END), heard=0),
}

# Every way of changing a table that the library has, but for those that differ in the rows alone; one of each kind in
# the default tests.
FEW_DEEDS: Final = ("upsert", "pinned overwrite", "account function")
DEEDS_AND_SLOW_ONES: Final = (
    *FEW_DEEDS,
    *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("append", "rewrite", "pinned append")),
)


def by_chance(seed: int) -> Callable[[], Passage]:
    """Return what chooses a way for each request; those with a rival need somebody who is one."""
    chance = random.Random(seed)
    ways = [passage for name, passage in PASSAGES.items() if "rival" not in name]
    return lambda: chance.choice(ways)


def check_applied_once(bank: Bank, client: Catalog, proxy: ReplayingProxy, deed_name: str, passage: str) -> None:
    """Whatever happens to the first request of several attempts: the deed is done once, and that is said."""
    deed, ids = _deed(deed_name)
    before = _script(bank, proxy, passage)

    returned = deed.run(client, ids, 4, nothing)

    expected = dict(deed.after({**before, **_rivals(before, passage)}))
    assert proxy.is_done
    assert bank.balances() == expected
    if isinstance(returned, Receipt):
        assert returned.snapshot_ids
        assert set(returned.snapshot_ids) <= set(bank.snapshot_ids())
    else:
        assert returned == expected[1]
    proxy.deliver()
    assert bank.balances() == expected
    assert bank.inventory().missing == []
    assert bank.inventory().unreachable == []
    check_is_known(bank, client, ids)


def check_truth_is_told(bank: Bank, client: Catalog, proxy: ReplayingProxy, deed_name: str, passage: str) -> str:
    """When the first attempt is the last: what the call says is so, and stays so whatever arrives later."""
    deed, ids = _deed(deed_name)
    before = _script(bank, proxy, passage)
    not_done = {**before, **_rivals(before, passage)}
    done = dict(deed.after(not_done))

    error: Exception | None = None
    try:
        deed.run(client, ids, 1, nothing)
    except (ConflictError, OutcomeUnknownError) as err:
        error = err
    said_at_once = bank.balances()
    proxy.deliver()

    assert proxy.is_done
    assert bank.inventory().missing == []
    if error is None:
        assert said_at_once == bank.balances() == done
    elif isinstance(error, ConflictError):
        assert said_at_once == bank.balances() == not_done
    else:
        assert isinstance(error, OutcomeUnknownError)
        has_landed = bool(set(error.snapshot_ids) & set(bank.snapshot_ids()))
        assert bank.balances() == (done if has_landed else not_done)
    return type(error).__name__


def check_is_known(bank: Bank, client: Catalog, operation_ids: tuple[str, ...]) -> None:
    """Whoever comes again with one of the operations is told that it has landed."""
    for operation_id in operation_ids:
        again = call(bank, lambda base: NoChange(), operation_id, catalog=client)
        assert list(again.already_applied) == [operation_id]
        assert again.is_noop


def _deed(name: str) -> tuple[Deed, tuple[str, ...]]:
    deed = DEEDS[name]
    return deed, ("the-deed",) if deed.has_operation_ids else ()


def _script(bank: Bank, proxy: ReplayingProxy, passage: str) -> dict[int, int]:
    """Script the passage, with its rival, and return the balances as they are before."""
    before: dict[int, int] = bank.balances()
    meanwhile: Callable[[], object] = nothing
    if "rival" in passage:
        meanwhile = lambda: bank.change(2, bal=before[2] + RIVALS)  # noqa: E731  (It needs no name.)
    proxy.script(replace(PASSAGES[passage], meanwhile=meanwhile))
    return before


def _rivals(before: dict[int, int], passage: str) -> dict[int, int]:
    return {2: before[2] + RIVALS} if "rival" in passage else {}
