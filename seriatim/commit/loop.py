"""The loop: refresh, compute, commit on the base that was read; reapply when it has moved."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import Identifier

from seriatim.commit import summary, write
from seriatim.commit.attempts import Attempt, Attempts
from seriatim.commit.base import Base
from seriatim.commit.change import Change
from seriatim.commit.lineage import first_after, landed_operations
from seriatim.commit.observe import Observer, Silent
from seriatim.commit.pin import Pin
from seriatim.commit.policy import RetryPolicy
from seriatim.commit.receipt import Conflict, Receipt, Winner
from seriatim.commit.writer import Writer
from seriatim.errors import InvalidChangeError, TableReplacedError
from seriatim.system import Clock, SystemClock, new_id, new_random

Compute = Callable[[Base], Change]


def apply(
    catalog: Catalog,
    identifier: str | Identifier,
    change: Compute,
    *,
    operation_ids: Sequence[str] = (),
    policy: RetryPolicy | None = None,
    writer: Writer | None = None,
    observer: Observer | None = None,
    clock: Clock | None = None,
    chance: random.Random | None = None,
) -> Receipt:
    """Commit `change(base)` on the base it read, exactly once; compute it anew when the base has moved.

    `operation_ids` name what is done: those that have landed before, whoever did it, are not in `base.pending`, and
    when none is left `change` is not called. The commit carries `base.pending` with the rows: the change must do all of
    it, and nothing else. A change that turns out empty still lands its operation ids, in a snapshot without rows; an
    empty one without an operation id writes nothing.

    Raises:
        ConflictError: the table moved under every attempt that the policy allows; nothing was written.
        OutcomeUnknownError: the commit may have landed, and the table does not tell.
        TableReplacedError: the table was dropped and created anew meanwhile; nothing was written to the new one.
        HistoryCutError: the history is cut, so it cannot be told whether an operation has landed; nothing was written.
        InvalidChangeError: the change does not fit the table; nothing was written.
    """
    call = _Call(
        attempts=Attempts(catalog, identifier),
        operation_ids=_checked(operation_ids),
        change=change,
        policy=policy or RetryPolicy(),
        writer=writer or Writer(),
        observer=observer or Silent(),
        clock=clock or SystemClock(),
        chance=chance or new_random(),
    )
    return call.run()


@dataclass(frozen=True, slots=True)
class _Done:
    """What an attempt does if it lands."""

    pending: tuple[str, ...]
    already_applied: dict[str, int]
    rows_written: int


@dataclass(slots=True)
class _Call:
    """One call of `apply`: its arguments, and what it has met so far."""

    attempts: Attempts[_Done]
    operation_ids: tuple[str, ...]
    change: Compute
    policy: RetryPolicy
    writer: Writer
    observer: Observer
    clock: Clock
    chance: random.Random
    conflicts: list[Conflict] = field(default_factory=list)
    waited_s: float = 0.0
    table_uuid: UUID | None = None  # None: nothing was read yet

    def run(self) -> Receipt:
        begun_s = self.clock.monotonic_s()
        for number in range(1, self.policy.attempts_max + 1):
            if (receipt := self._attempt(number)) is not None:
                return receipt
            wait_s = self.policy.wait_s(number, self.chance)
            is_late = self.clock.monotonic_s() + wait_s - begun_s > self.policy.total_s_max
            if is_late or number == self.policy.attempts_max:
                break
            self.clock.wait_s(wait_s)
            self.waited_s += wait_s
        raise self.attempts.verdict()

    def _attempt(self, number: int) -> Receipt | None:
        """Refresh, compute, commit. None: the base had moved, or the outcome is open; try again."""
        begun_s = self.clock.monotonic_s()
        table, pin = self._refresh()
        if self.attempts.landed:
            return self._receipt(self.attempts.landed)
        applied = landed_operations(self.attempts.name, table.metadata, self.operation_ids)
        pending = tuple(id_ for id_ in self.operation_ids if id_ not in applied)
        if self.operation_ids and not pending:
            return self._nothing_to_do(pin, applied)
        change = self.change(Base(self.attempts.name, pin.snapshot_id, pending, table))
        write.check(self.attempts.name, [column.name for column in table.schema().fields], change)
        if not pending and write.is_empty(change):
            return self._nothing_to_do(pin, applied)
        properties = summary.words(new_id(), pending, pin, self.writer)
        done = _Done(pending, applied, write.rows_of(change))
        if not self._submit(table, change, properties, done):
            table, _ = self._refresh()
        if self.attempts.landed:
            return self._receipt(self.attempts.landed)
        self._report(number, pin, table.metadata, pending, self.clock.monotonic_s() - begun_s)
        return None

    def _refresh(self) -> tuple[Table, Pin]:
        table = self.attempts.load()
        pin = self.attempts.pin
        if pin is None:
            raise TypeError(f"{self.attempts.name}: the catalog returned {type(table).__name__}, not a PyIceberg Table")
        if self.table_uuid is not None and pin.table_uuid != self.table_uuid:
            raise TableReplacedError(
                self.attempts.name, expected_uuid=str(self.table_uuid), actual_uuid=str(pin.table_uuid)
            )
        self.table_uuid = pin.table_uuid
        return table, pin

    def _submit(self, table: Table, change: Change, properties: dict[str, str], done: _Done) -> bool:
        try:
            has_landed = self.attempts.submit(table, lambda handle: write.write(handle, change, properties), done)
        except (ValueError, TypeError) as err:  # PyIceberg compares the schemas before it writes.
            raise InvalidChangeError(f"{self.attempts.name}: PyIceberg refuses the change: {err}") from err
        if has_landed and not (self.attempts.landed and self.attempts.landed.staged):
            raise RuntimeError(
                f"{self.attempts.name}: PyIceberg wrote nothing, or by-passed the gate; check its version"
            )
        return has_landed

    def _report(
        self, number: int, pin: Pin, metadata: TableMetadata, pending: tuple[str, ...], wasted_s: float
    ) -> None:
        """Tell the observer of a conflict at once: a run that dies later cannot."""
        if pin == self.attempts.pin and not self.attempts.is_refused:
            return
        conflict = Conflict(
            event_id=new_id(),
            table=self.attempts.name,
            operation_ids=pending,
            attempt=number,
            expected_snapshot_id=pin.snapshot_id,
            actual_snapshot_id=metadata.current_snapshot_id,
            winner=_winner(metadata, pin.snapshot_id),
            wasted_s=wasted_s,
            occurred_at_ms=self.clock.now_ms(),
        )
        self.conflicts.append(conflict)
        self.observer.conflict(conflict)

    def _nothing_to_do(self, pin: Pin, applied: dict[str, int]) -> Receipt:
        return Receipt(
            table=self.attempts.name,
            operation_ids=self.operation_ids,
            base_snapshot_id=pin.snapshot_id,
            snapshot_ids=(),
            attempts=self.attempts.count,
            conflicts=tuple(self.conflicts),
            already_applied=applied,
            waited_s=self.waited_s,
        )

    def _receipt(self, landed: Attempt[_Done]) -> Receipt:
        return Receipt(
            table=self.attempts.name,
            operation_ids=self.operation_ids,
            base_snapshot_id=landed.pin.snapshot_id,
            snapshot_ids=tuple(snapshot.snapshot_id for snapshot in landed.staged),
            attempts=self.attempts.count,
            conflicts=tuple(self.conflicts),
            already_applied=landed.result.already_applied,
            rows_written=landed.result.rows_written,
            waited_s=self.waited_s,
        )


def _winner(metadata: TableMetadata, base_snapshot_id: int | None) -> Winner | None:
    snapshot = first_after(metadata, base_snapshot_id)
    if snapshot is None:
        return None
    return Winner(snapshot.snapshot_id, summary.operation_ids(snapshot), summary.run_id(snapshot))


def _checked(operation_ids: Sequence[object]) -> tuple[str, ...]:
    if isinstance(operation_ids, str):
        raise InvalidChangeError(f"operation_ids is one string, {operation_ids!r}; pass a sequence of them")
    checked = tuple(id_ for id_ in operation_ids if isinstance(id_, str) and id_)
    if len(checked) < len(operation_ids):
        raise InvalidChangeError(f"an operation id is a non-empty string; these are not all: {list(operation_ids)}")
    if len(set(checked)) < len(checked):
        raise InvalidChangeError(f"an operation id is named twice in {list(checked)}; each names one change")
    return checked
