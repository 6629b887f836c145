"""`pinned`: whatever else a PyIceberg table can do, committed exactly once on the base it saw."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.typedef import Identifier

from seriatim.commit import mirrors, summary
from seriatim.commit.deferral import Deferral
from seriatim.commit.ledger_names import Names
from seriatim.commit.ledger_policy import LedgerPolicy
from seriatim.commit.loop import ANY_BASE, AnyBase, Call, Ready, Settings
from seriatim.commit.observe import Observer, Reapplied
from seriatim.commit.partitions import Partitions
from seriatim.commit.pin import Pin
from seriatim.commit.pinned_table import PinnedTable
from seriatim.commit.policy import RetryPolicy
from seriatim.commit.reads import encoded
from seriatim.commit.receipt import Receipt
from seriatim.commit.retention import RetentionPolicy
from seriatim.commit.staging import Staged
from seriatim.commit.streams import Stream
from seriatim.commit.submission import submit
from seriatim.commit.turnstile.port import Turnstile
from seriatim.commit.writer import Writer
from seriatim.system import Clock


def pinned(  # noqa: PLR0913  # Options, by name.
    catalog: Catalog,
    identifier: str | Identifier,
    fn: Callable[[Table], object],
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
    """Let `fn(table)` read and commit as it likes, and land all that it committed at once, on the base it saw.

    `fn` is called anew, with a table loaded anew, for each attempt: everything counts as read. What it commits through
    the table (appends, overwrites, upserts, deletes, schema changes, several of them) is held back until it returns,
    and then lands as one commit, in as many snapshots. The table is `fn`'s for the length of the call and must not be
    kept. An `fn` that commits nothing writes nothing, unless there are operations to land. The options are those of
    `apply`.

    Raises:
        As `apply`. InvalidChangeError: the branch is the mirror of a Delta table. What `fn` raises comes out as it is,
            and nothing is written.
    """
    names = Names.of(operation_ids, partitions, stream, issued_at_ms)
    settings = Settings.of(
        names, branch, expected_base, policy, ledger, retention, writer, observer, clock, chance, turnstile
    )
    call = Call(catalog, identifier, settings)
    return call.run(_PinnedWork(fn, call.attempts.name, settings))


@dataclass(slots=True)
class _PinnedWork:
    """Calls `fn` for each base."""

    fn: Callable[[Table], object]
    name: str
    settings: Settings
    before: Pin | None = None  # None: not called yet

    rebases = 0

    def ready(self, table: Table, pin: Pin, pending: tuple[str, ...], attempt: int) -> Ready | None:
        # The handle to write through is passed to `write`, behind the gate.
        mirrors.require_none(self.name, table.metadata, self.settings.branch)
        if self.before is not None and self.before != pin:
            moved = (self.before.snapshot_id, pin.snapshot_id)
            self.settings.observer.notify(Reapplied(self.name, attempt, *moved))
        self.before = pin
        return Ready(
            lambda handle: self._write(handle, pending),
            {summary.READS: "everything", summary.READS_JSON: encoded([AlwaysTrue()])},
            staged_files=(),
            rows=None,
            is_callers=True,
        )

    def drop(self) -> None:
        """Nothing is kept between attempts."""

    def _write(self, handle: Table, pending: tuple[str, ...]) -> None:
        table = PinnedTable.like(handle) if type(handle) is Table else handle
        deferral = Deferral(handle.catalog, table)
        table.catalog = deferral  # type: ignore[assignment]  # PyIceberg asks a catalog for no more.
        try:
            self.fn(table)
            if not deferral.has_snapshots and (pending or deferral.updates):
                now_ms = self.settings.clock.now_ms()
                submit(table, Staged(), self.settings.branch, now_ms)  # Something that the commit can be known by.
        finally:
            table.catalog = handle.catalog
        deferral.flush(handle, self.settings.branch)
        handle.metadata = table.metadata
