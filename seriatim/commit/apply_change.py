"""`apply`: a change computed from what it reads, committed exactly once."""

from __future__ import annotations

import random
from collections.abc import Sequence

from pyiceberg.catalog import Catalog
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.typedef import Identifier

from seriatim.commit.loop import ANY_BASE, AnyBase, Call, Settings
from seriatim.commit.observe import Observer
from seriatim.commit.policy import RetryPolicy
from seriatim.commit.prepare import Compute, Preparation
from seriatim.commit.receipt import Receipt
from seriatim.commit.writer import Writer
from seriatim.system import Clock


def apply(
    catalog: Catalog,
    identifier: str | Identifier,
    change: Compute,
    *,
    operation_ids: Sequence[str] = (),
    policy: RetryPolicy | None = None,
    branch: str = MAIN_BRANCH,
    expected_base: int | AnyBase | None = ANY_BASE,
    writer: Writer | None = None,
    observer: Observer | None = None,
    clock: Clock | None = None,
    chance: random.Random | None = None,
) -> Receipt:
    """Commit `change(base)` on the base it read, exactly once; compute it anew when what it read may have changed.

    `operation_ids` name what is done: those that have landed before, whoever did it, are not in `base.pending`, and
    when none is left `change` is not called. The commit carries `base.pending` with the rows: the change must do all of
    it, and nothing else. A change that turns out empty still lands its operation ids, in a snapshot without rows; an
    empty one without an operation id writes nothing.

    With `expected_base`, a snapshot id or None for a branch without one, the change lands on that base or not at all.

    Raises:
        ConflictError: the table moved under every attempt that the policy allows, or is not at `expected_base`; nothing
            was written.
        OutcomeUnknownError: the commit may have landed, and the table does not tell.
        TableReplacedError: the table was dropped and created anew meanwhile; nothing was written to the new one.
        HistoryCutError: the history is cut, so it cannot be told whether an operation has landed; nothing was written.
        InvalidChangeError: the change does not fit the table; nothing was written.
    """
    settings = Settings.of(operation_ids, branch, expected_base, policy, writer, observer, clock, chance)
    call = Call(catalog, identifier, settings)
    return call.run(Preparation(change, call.attempts, settings))
