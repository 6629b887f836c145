"""`consume`: what a mirror has that a stream of another table has not used yet, applied to that table exactly once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.typedef import Identifier

from seriatim.commit import (
    Base,
    Conflict,
    Event,
    LedgerPolicy,
    NoChange,
    Observer,
    Receipt,
    RetryPolicy,
    Stream,
    Writer,
    apply,
)
from seriatim.commit.ledger import Ledger
from seriatim.commit.pin import Pin
from seriatim.commit.prepare import Compute
from seriatim.errors import StreamGapError
from seriatim.mirror.changes import appended
from seriatim.system import Clock


@dataclass(frozen=True, slots=True)
class NewRows:
    """What the Delta versions after `after` up to `upto` have appended."""

    after: int | None  # None: from the first version
    upto: int
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Consumed:
    """What a call did: the versions after `after` up to `upto` were applied by it, or, if it is a no-op, by others."""

    receipt: Receipt
    after: int | None  # None: from the first version
    upto: int


def consume(  # Options, by name.
    source: Table,
    catalog: Catalog,
    identifier: str | Identifier,
    change: Callable[[NewRows], Compute],
    *,
    stream: str,
    upto: int,
    columns: Sequence[str] | None = None,
    policy: RetryPolicy | None = None,
    ledger: LedgerPolicy | None = None,
    writer: Writer | None = None,
    observer: Observer | None = None,
    clock: Clock | None = None,
) -> Consumed:
    """Apply what the mirror `source` has up to a Delta version, and the stream has not, to another table, exactly once.

    The stream's watermark lands with the change, in one commit: every row of the mirror is used once, whatever
    overlaps, dies or is retried. `change` is given the new rows and returns what `apply` is to commit. When another
    call has used a part of them meanwhile, it is asked again, with the rest. When nothing is new, it is not asked and
    nothing is written; new versions without rows are a step like others, so that they are not looked at again.

    Raises:
        NotAppendedError, ChangesUnknownError, ValueError: as `appended`; nothing was written.
        StreamGapError: the stream was set back while the call was at work; nothing was written.
        ConflictError, OutcomeUnknownError, ...: as `apply`.
    """
    tally = _Tally(observer)
    after = _watermark(catalog, identifier, stream, ledger)
    while True:
        is_new = after is None or after < upto
        try:
            receipt = apply(
                catalog,
                identifier,
                change(NewRows(after, upto, appended(source, after, upto, columns))) if is_new else _nothing,
                stream=Stream(stream, after=after if is_new else None, upto=upto),
                policy=policy,
                ledger=ledger,
                writer=writer,
                observer=tally,
                clock=clock,
            )
        except StreamGapError:
            reached = _watermark(catalog, identifier, stream, ledger)
            if reached is None or (after is not None and reached <= after):
                raise
            after = reached  # Another call has used a part: the rest is another change.
            continue
        return Consumed(tally.told_in(receipt), after, upto)


def _nothing(_base: Base) -> NoChange:
    """Stand for the change of a step that has been applied: it is not called."""
    raise AssertionError("a step that is behind the watermark was not found applied")


def _watermark(catalog: Catalog, identifier: str | Identifier, stream: str, ledger: LedgerPolicy | None) -> int | None:
    table = catalog.load_table(identifier)
    found = Ledger.at(".".join(table.name()), table, Pin.of(table, MAIN_BRANCH), ledger or LedgerPolicy())
    reached = found.watermark(stream)
    return reached.upto if reached is not None else None


@dataclass(slots=True)
class _Tally:
    """Remembers the conflicts of several calls of `apply`, which are one to whoever called `consume`."""

    observer: Observer | None
    conflicts: list[Conflict] = field(default_factory=list)

    def notify(self, event: Event) -> None:
        """Take note of a conflict, and pass the event on."""
        if isinstance(event, Conflict):
            self.conflicts.append(event)
        if self.observer is not None:
            self.observer.notify(event)

    def told_in(self, receipt: Receipt) -> Receipt:
        """Return the receipt of the last call with what was met in all of them."""
        earlier = len(self.conflicts) - len(receipt.conflicts)
        return replace(receipt, conflicts=tuple(self.conflicts), attempts=receipt.attempts + earlier)
