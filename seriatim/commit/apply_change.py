"""`apply`: a change computed from what it reads, committed exactly once."""

from __future__ import annotations

import random
from collections.abc import Sequence

from pyiceberg.catalog import Catalog
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.typedef import Identifier

from seriatim.commit.ledger_names import Names
from seriatim.commit.ledger_policy import LedgerPolicy
from seriatim.commit.loop import ANY_BASE, AnyBase, Call, Settings
from seriatim.commit.observe import Observer
from seriatim.commit.partitions import Partitions
from seriatim.commit.policy import RetryPolicy
from seriatim.commit.prepare import Compute, Preparation
from seriatim.commit.receipt import Receipt
from seriatim.commit.retention import RetentionPolicy
from seriatim.commit.streams import Stream
from seriatim.commit.turnstile.port import Turnstile
from seriatim.commit.writer import Writer
from seriatim.system import Clock


def apply(  # noqa: PLR0913  # Options, by name.
    catalog: Catalog,
    identifier: str | Identifier,
    change: Compute,
    *,
    operation_ids: Sequence[str] = (),
    partitions: Partitions | None = None,
    stream: Stream | None = None,
    issued_at_ms: int | None = None,
    policy: RetryPolicy | None = None,
    ledger: LedgerPolicy | None = None,
    retention: RetentionPolicy | None = None,
    branch: str = MAIN_BRANCH,
    expected_base: int | AnyBase | None = ANY_BASE,
    writer: Writer | None = None,
    observer: Observer | None = None,
    clock: Clock | None = None,
    chance: random.Random | None = None,
    turnstile: Turnstile | None = None,
) -> Receipt:
    """Commit `change(base)` on the base it read, exactly once; compute it anew when what it read may have changed.

    `operation_ids` name what is done: those that have landed before, whoever did it, are not in `base.pending`, and
    when none is left `change` is not called. The commit carries `base.pending` with the rows: the change must do all of
    it, and nothing else. A change that turns out empty still lands its operation ids, in a snapshot without rows; an
    empty one without an operation id writes nothing.

    `partitions` and `stream` name operations too: partitions of an asset, applied in any order and remembered without
    limit, and a step of a stream, applied in order. `base.pending` holds the operation ids of those that are left
    (`Partitions.left` gives the keys). Other ids are remembered for the window of the `ledger` policy; `issued_at_ms`
    says when the operations were issued, so that one that is older than the memory is refused rather than done twice.

    Calls on one machine take turns (`LocalTurnstile`), unless the variable SERIATIM_TURNSTILE is `off`: that saves
    attempts, and nothing else depends on it. Where others were seen to write other rows, the change is computed before
    its turn, and once more in it if need be. `turnstile=NO_TURNSTILE` lets this one go at once.

    With `expected_base`, a snapshot id or None for a branch without one, the change lands on that base or not at all.

    Raises:
        ConflictError: the table moved under every attempt that the policy allows, or is not at `expected_base`; nothing
            was written.
        OutcomeUnknownError: the commit may have landed, and the table does not tell.
        TableReplacedError: the table was dropped and created anew meanwhile; nothing was written to the new one.
        HistoryCutError: the history is cut, so it cannot be told whether an operation has landed; nothing was written.
        LedgerUnreadableError: the ledger cannot be read, so the same cannot be told; nothing was written.
        OperationTooOldError: an operation was issued before what the ledger remembers; nothing was written.
        StreamGapError: the step of the stream is not the next one; nothing was written.
        InvalidChangeError: the change does not fit the table, or the branch is the mirror of a Delta table; nothing was
            written.
    """
    names = Names.of(operation_ids, partitions, stream, issued_at_ms)
    settings = Settings.of(
        names, branch, expected_base, policy, ledger, retention, writer, observer, clock, chance, turnstile
    )
    call = Call(catalog, identifier, settings)
    preparation = Preparation(change, call.attempts, settings)
    return call.run(preparation, preparation.lists)
