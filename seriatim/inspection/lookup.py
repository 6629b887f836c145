"""Whether one operation has been applied, by the same ledger that keeps it from being applied twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.typedef import Identifier

from seriatim.commit import ledger_words, summary
from seriatim.commit.ledger import Ledger
from seriatim.commit.ledger_names import Names
from seriatim.commit.ledger_policy import LedgerPolicy
from seriatim.commit.lineage import is_beginning, walk
from seriatim.commit.pin import Pin
from seriatim.commit.streams import Watermark
from seriatim.errors import HistoryCutError, LedgerUnreadableError, OperationTooOldError

_STEP: Final = re.compile(r"(.+)@(-?\d+)", re.ASCII | re.DOTALL)  # How the step of a stream is named.


@dataclass(frozen=True, slots=True)
class Applied:
    """The operation has been applied."""

    operation_id: str
    head_snapshot_id: int | None  # what was looked at
    snapshot_id: int | None  # that applied it, or brought its stream past it; None: no longer known
    committed_at_ms: int | None  # None: the snapshot is no longer in the table
    watermark: int | None  # the place that its stream has reached; None: it is not the step of a stream


@dataclass(frozen=True, slots=True)
class NotApplied:
    """The operation has not been applied, as of the head; a commit that is on its way may apply it yet."""

    operation_id: str
    head_snapshot_id: int | None  # None: the branch is empty
    proof: str
    watermark: int | None  # the place that its stream has reached; None: it is not the step of a stream that has begun


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The operation is not in what is left of the history and the ledger, and that is not everything."""

    operation_id: str
    head_snapshot_id: int | None
    reason: str
    forgotten_until_ms: int | None  # what was issued since is remembered; None: something else is wrong


Lookup = Applied | NotApplied | CannotTell


def lookup(
    catalog: Catalog,
    identifier: str | Identifier,
    operation_id: str,
    *,
    branch: str = MAIN_BRANCH,
    issued_at_ms: int | None = None,  # None: not known, so it may be older than what the ledger remembers
) -> Lookup:
    """Tell whether an operation, a partition (`asset|key`) or the step of a stream (`name@upto`) has been applied.

    Nothing is written.

    Raises:
        InvalidChangeError: there is no such branch, or the operation id is empty or too long.
    """
    return lookup_in(catalog.load_table(identifier), operation_id, branch=branch, issued_at_ms=issued_at_ms)


def lookup_in(table: Table, operation_id: str, *, branch: str = MAIN_BRANCH, issued_at_ms: int | None = None) -> Lookup:
    """Tell it of a table as it was loaded, so that several operations are looked up at one head; see `lookup`.

    Raises:
        InvalidChangeError: as `lookup`.
    """
    pin = Pin.of(table, branch)
    names = Names.of([operation_id], None, None, issued_at_ms if issued_at_ms is not None else 0)
    watermark: Watermark | None = None
    try:
        ledger = Ledger.at(".".join(table.name()), table, pin, LedgerPolicy())
        watermark, upto = _stream(ledger, operation_id)
        if watermark is not None and upto <= watermark.upto:
            return _applied(table, pin, operation_id, watermark.snapshot_id, watermark)
        found = ledger.applied(names)
    except OperationTooOldError as err:
        if watermark is None:
            reason = "it is not among what the ledger remembers, and older operations are forgotten"
            return CannotTell(operation_id, pin.snapshot_id, reason, err.forgotten_until_ms)
        found = {}  # Streams are not forgotten.
    except HistoryCutError as err:
        reason = f"the history was cut at snapshot {err.oldest_snapshot_id}, and the operation is not in what is left"
        return CannotTell(operation_id, pin.snapshot_id, reason, None)
    except LedgerUnreadableError as err:
        reason = f"the ledger at {err.location} cannot be read: {err.reason}"
        return CannotTell(operation_id, pin.snapshot_id, reason, None)
    if operation_id in found:
        return _applied(table, pin, operation_id, found[operation_id], None)
    return NotApplied(operation_id, pin.snapshot_id, _proof(table, pin), watermark.upto if watermark else None)


def _stream(ledger: Ledger, operation_id: str) -> tuple[Watermark | None, int]:
    """Return the place that the stream has reached of which the operation would be a step, and where the step leads."""
    step = _STEP.fullmatch(operation_id)
    return (ledger.watermark(step[1]), int(step[2])) if step is not None else (None, 0)


def _applied(
    table: Table, pin: Pin, operation_id: str, snapshot_id: int | None, watermark: Watermark | None
) -> Applied:
    if snapshot_id is None:  # The ledger keeps partitions as intervals; the history may still tell.
        snapshot_id = next(_appliers(table, pin, operation_id), None)
    snapshot = table.metadata.snapshot_by_id(snapshot_id) if snapshot_id is not None else None
    return Applied(
        operation_id,
        pin.snapshot_id,
        snapshot_id,
        snapshot.timestamp_ms if snapshot is not None else None,
        watermark.upto if watermark is not None else None,
    )


def _appliers(table: Table, pin: Pin, operation_id: str) -> Iterator[int]:
    for snapshot in walk(table.metadata, pin.snapshot_id):
        if summary.is_last_part(snapshot) and operation_id in summary.operation_ids(snapshot):
            yield snapshot.snapshot_id


def _proof(table: Table, pin: Pin) -> str:
    """Say why absence counts, where it does."""
    for snapshot in walk(table.metadata, pin.snapshot_id):
        if ledger_words.format_of(snapshot) is not None:
            return f"the ledger of snapshot {snapshot.snapshot_id} tells everything that was applied up to it"
        if is_beginning(snapshot):
            return "the history reaches back to the table's beginning"
    if pin.snapshot_id is None:
        return "nothing has been committed to the branch"
    return "the ledger of the tagged snapshot, from which the history descends, tells everything that was applied"
