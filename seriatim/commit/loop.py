"""The loop: refresh, make ready, commit on the base that was read; try again when it has moved."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, Protocol
from uuid import UUID

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Identifier

from seriatim.commit.attempts import Attempt, Attempts
from seriatim.commit.landing import Landing
from seriatim.commit.ledger import Ledger
from seriatim.commit.ledger_names import Names
from seriatim.commit.ledger_policy import LedgerPolicy
from seriatim.commit.neighbours import NEIGHBOURS
from seriatim.commit.observe import AttemptBegun, GaveUp, Landed, Observer, Silent, Unbreakable
from seriatim.commit.pace import PACES
from seriatim.commit.pin import Pin
from seriatim.commit.policy import RetryPolicy
from seriatim.commit.receipt import Conflict, Receipt
from seriatim.commit.retention import RetentionPolicy
from seriatim.commit.turnstile.chosen import default_turnstile
from seriatim.commit.turnstile.lines import line_of
from seriatim.commit.turnstile.port import Turnstile
from seriatim.commit.turnstile.turns import Turns
from seriatim.commit.winner import winner_between
from seriatim.commit.writer import Writer
from seriatim.errors import ConflictError, TableReplacedError
from seriatim.system import Clock, SystemClock, new_id, new_random


class AnyBase(Enum):
    """The type of `ANY_BASE`."""

    ANY = "any base"


ANY_BASE: Final = AnyBase.ANY


@dataclass(frozen=True, slots=True)
class Settings:
    """How a call is to go."""

    names: Names
    branch: str
    expected_base: int | AnyBase | None
    policy: RetryPolicy
    ledger: LedgerPolicy
    retention: RetentionPolicy
    writer: Writer
    observer: Observer
    clock: Clock
    chance: random.Random
    turnstile: Turnstile

    @classmethod
    def of(
        cls,
        names: Names,
        branch: str,
        expected_base: int | AnyBase | None,
        policy: RetryPolicy | None,
        ledger: LedgerPolicy | None,
        retention: RetentionPolicy | None,
        writer: Writer | None,
        observer: Observer | None,
        clock: Clock | None,
        chance: random.Random | None,
        turnstile: Turnstile | None = None,
    ) -> Settings:
        """Put the defaults for what the caller did not give."""
        return cls(
            names=names,
            branch=branch,
            expected_base=expected_base,
            policy=policy or RetryPolicy(),
            ledger=ledger or LedgerPolicy(),
            retention=retention or RetentionPolicy(),
            writer=writer or Writer(),
            observer=Unbreakable(observer or Silent()),
            clock=clock or SystemClock(),
            chance=chance or new_random(),
            turnstile=turnstile or default_turnstile(),
        )

    @property
    def operation_ids(self) -> tuple[str, ...]:
        """Every operation of the call, by name."""
        return self.names.operation_ids


@dataclass(frozen=True, slots=True)
class Ready:
    """One attempt's commit, ready to be submitted."""

    write: Callable[[Table], None]
    words: Mapping[str, str]  # for the summary of each snapshot
    staged_files: Sequence[str]  # written before the attempt, and of use to a later one
    rows: tuple[int, int] | None  # written and removed; None: as the snapshots say
    refusals: tuple[type[Exception], ...] = ()  # what `write` may raise to say that the base has moved
    is_callers: bool = False  # `write` is code of the caller's, which may write nothing


class Work(Protocol):
    """What a call is to do; the loop asks for it anew for each base."""

    @property
    def rebases(self) -> int:
        """How often the work could be kept though the base had moved."""
        ...

    def ready(self, table: Table, pin: Pin, pending: tuple[str, ...], attempt: int) -> Ready | None:
        """Return what to submit on this base; None: there is nothing to write."""
        ...

    def drop(self) -> None:
        """Forget what was made ready, and remove its files unless a commit may hold them."""
        ...


Lists = Callable[[int], bool]
"""Tells whether the base that work was last made ready for lists a manifest that this snapshot wrote."""


@dataclass(frozen=True, slots=True)
class _Done:
    """What an attempt does if it lands."""

    already_applied: dict[str, int | None]
    rows: tuple[int, int] | None  # written and removed; None: as the snapshots say


class Call:
    """One call on a table, and what it has met so far."""

    def __init__(self, catalog: Catalog, identifier: str | Identifier, settings: Settings) -> None:
        """Prepare the call; nothing is loaded yet."""
        self.attempts: Attempts[_Done] = Attempts(catalog, identifier, settings.branch, settings.observer)
        self._settings, self._notify, self._name = settings, settings.observer.notify, self.attempts.name
        self._conflicts: list[Conflict] = []
        line = line_of(catalog, identifier)
        self._line = line or self._name
        self._turns = Turns(settings.turnstile, line, settings.policy.total_s_max, settings.clock)
        self._paused_s = 0.0
        self._lists: Lists | None = None  # None: the work fits no other base than the one that it was done for
        self._ahead: Pin | None = None  # the base that it was done for before the first turn; None: it was not
        self._table_uuid: UUID | None = None  # None: nothing was read yet

    @property
    def conflicts(self) -> Sequence[Conflict]:
        """The conflicts so far; a receipt has them too, but a call that fails returns none."""
        return self._conflicts

    def run(self, work: Work, lists: Lists | None = None) -> Receipt:
        """Do the work, once; raises what is true of the table if it could not be done.

        Work that says what its base `lists` may be done before its turn, and is asked in it to fit another base.
        """
        self._lists = lists
        clock = self._settings.clock
        begun_s = clock.monotonic_s()
        try:
            receipt = replace(self._loop(work), rebases=work.rebases, took_s=clock.monotonic_s() - begun_s)
        except Exception as err:
            work.drop()
            self._notify(GaveUp(self._name, self._settings.operation_ids, err))
            raise
        work.drop()
        self._notify(Landed(receipt))
        return receipt

    def _loop(self, work: Work) -> Receipt:
        policy, clock = self._settings.policy, self._settings.clock
        begun_s = clock.monotonic_s()
        before = PACES.at(self._line)
        self._do_ahead(work)
        for number in range(1, policy.attempts_max + 1):
            with self._turns.turn(), self.attempts.shield():
                receipt = self._attempt(work, number)
            seen = before.measured(number, self._turns.taken_s)
            PACES.note(self._line, seen.after(number))
            if receipt is not None:
                self._remember(receipt)
                return receipt
            wait_s = policy.wait_s(number, self._settings.chance, seen)
            is_late = clock.monotonic_s() + wait_s - begun_s > policy.total_s_max
            if is_late or number == policy.attempts_max or self._settings.expected_base is not ANY_BASE:
                break
            clock.wait_s(wait_s)
            self._paused_s += wait_s
        raise self.attempts.verdict()

    def _attempt(self, work: Work, number: int) -> Receipt | None:
        """Refresh, compute, commit. None: the base had moved, or the outcome is open; try again."""
        begun_s = self._settings.clock.monotonic_s()
        table, pin = self._refresh()
        if self.attempts.landed:
            return self._receipt(self.attempts.landed)
        ids = self._settings.operation_ids
        ledger = Ledger.at(self._name, table, pin, self._settings.ledger)
        applied = ledger.applied(self._settings.names)
        if recorded := self.attempts.recorded(applied.values()):
            return self._receipt(recorded)
        pending = self._pending(applied)
        if ids and not pending:
            return self._nothing_to_do(pin, applied)
        self._require_expected(pin)
        self._notify(AttemptBegun(self._name, pending, number, pin.snapshot_id))
        ready = work.ready(table, pin, pending, number)
        if number == 1:
            self._look_around(work, pin)
        is_done = ready is None or self._submit(table, ledger, pending, ready, applied)
        if not is_done:
            table, _ = self._refresh()
        if self.attempts.landed:
            return self._receipt(self.attempts.landed)
        if is_done and not self.attempts.is_open:
            return self._nothing_to_do(pin, applied)
        self._report(number, pin, table.metadata, pending, self._settings.clock.monotonic_s() - begun_s)
        return None

    def _do_ahead(self, work: Work) -> None:
        """Do the work before its turn comes, if it is likely to be kept then: the turn is for the landing alone.

        Whatever fails is done again in the turn, and fails there.
        """
        is_worth = self._lists is not None and NEIGHBOURS.at(self._line).is_worth_computing_ahead
        if not is_worth or not self._turns.are_taken or self._settings.expected_base is not ANY_BASE:
            return
        try:
            table, pin = self._refresh()
            ledger = Ledger.at(self._name, table, pin, self._settings.ledger)
            pending = self._pending(ledger.applied(self._settings.names))
            if pending or not self._settings.operation_ids:
                self._ahead = pin
                work.ready(table, pin, pending, 1)
        except Exception:  # noqa: BLE001  # Whatever it is, nothing was submitted.
            work.drop()

    def _look_around(self, work: Work, pin: Pin) -> None:
        """Note what the base tells of those who write the table, too."""
        if self._lists is None:
            return
        seen = NEIGHBOURS.at(self._line)
        seen = seen.at_base(pin.snapshot_id, has_landed=seen.landed_id is not None and self._lists(seen.landed_id))
        if self._ahead not in (None, pin):
            seen = seen.after_computing_ahead(is_kept=work.rebases > 0)
        NEIGHBOURS.note(self._line, seen)

    def _remember(self, receipt: Receipt) -> None:
        if self._lists is not None and receipt.snapshot_ids:
            seen = NEIGHBOURS.at(self._line)
            NEIGHBOURS.note(self._line, replace(seen, landed_id=receipt.snapshot_ids[-1]))

    def _refresh(self) -> tuple[Table, Pin]:
        table = self.attempts.load()
        pin = self.attempts.pin
        if pin is None:
            raise TypeError(f"{self._name}: the catalog returned {type(table).__name__}, not a PyIceberg Table")
        if self._table_uuid is not None and pin.table_uuid != self._table_uuid:
            raise TableReplacedError(self._name, expected_uuid=str(self._table_uuid), actual_uuid=str(pin.table_uuid))
        self._table_uuid = pin.table_uuid
        return table, pin

    def _pending(self, applied: Mapping[str, int | None]) -> tuple[str, ...]:
        return tuple(id_ for id_ in self._settings.operation_ids if id_ not in applied)

    def _require_expected(self, pin: Pin) -> None:
        expected = self._settings.expected_base
        if not isinstance(expected, AnyBase) and pin.snapshot_id != expected:
            raise ConflictError(self._name, expected=expected, actual=pin.snapshot_id, attempts=self.attempts.count)

    def _submit(
        self, table: Table, ledger: Ledger, pending: tuple[str, ...], ready: Ready, applied: dict[str, int | None]
    ) -> bool:
        settings = self._settings
        landing = Landing.on(
            ledger,
            table.metadata,
            settings.names,
            pending,
            retention=settings.retention,
            attempt=self.attempts.count + 1,  # The one that is submitted below.
            writer=settings.writer,
            now_ms=settings.clock.now_ms(),
        )

        def write(handle: Table) -> None:
            landing.accompany(handle)
            ready.write(handle)

        is_done = self.attempts.submit(
            table,
            write,
            _Done(applied, ready.rows),
            is_callers=ready.is_callers,
            words={**landing.words, **ready.words},
            staged_files=ready.staged_files,
            tag=landing.tag,
            is_named=landing.is_known_by_name,
            refusals=ready.refusals,
        )
        if is_done and self.attempts.landed is None and not ready.is_callers:
            raise RuntimeError(f"{self._name}: PyIceberg wrote nothing, or by-passed the gate; check its version")
        return is_done

    def _report(
        self, number: int, pin: Pin, metadata: TableMetadata, pending: tuple[str, ...], wasted_s: float
    ) -> None:
        """Tell the observer of a conflict at once: a run that dies later cannot."""
        now = self.attempts.pin
        if pin == now and not self.attempts.is_refused:
            return
        conflict = Conflict(
            event_id=new_id(),
            table=self._name,
            operation_ids=pending,
            attempt=number,
            expected_snapshot_id=pin.snapshot_id,
            actual_snapshot_id=now.snapshot_id if now else None,
            winner=winner_between(metadata, pin.snapshot_id, now.snapshot_id if now else None),
            wasted_s=wasted_s,
            occurred_at_ms=self._settings.clock.now_ms(),
        )
        self._conflicts.append(conflict)
        self._notify(conflict)

    def _nothing_to_do(self, pin: Pin, applied: dict[str, int | None]) -> Receipt:
        return self._receipt_of(pin.snapshot_id, (), _Done(applied, rows=None))

    def _receipt(self, landed: Attempt[_Done]) -> Receipt:
        return self._receipt_of(landed.pin.snapshot_id, landed.staged, landed.result)

    def _receipt_of(self, base_snapshot_id: int | None, staged: Sequence[Snapshot], done: _Done) -> Receipt:
        written, removed = done.rows or (_total(staged, "added-records"), _total(staged, "deleted-records"))
        return Receipt(
            table=self._name,
            operation_ids=self._settings.operation_ids,
            base_snapshot_id=base_snapshot_id,
            snapshot_ids=tuple(snapshot.snapshot_id for snapshot in staged),
            attempts=self.attempts.count,
            conflicts=tuple(self._conflicts),
            already_applied=done.already_applied,
            rows_written=written,
            rows_removed=removed,
            files_added=_total(staged, "added-data-files"),
            files_removed=_total(staged, "deleted-data-files"),
            waited_s=self._paused_s + self._turns.queued_s,
            queued_s=self._turns.queued_s,
        )


def _total(staged: Sequence[Snapshot], key: str) -> int:
    """Add up what the summaries of a commit's snapshots say."""
    return sum(int(snapshot.summary.additional_properties.get(key, 0)) for snapshot in staged if snapshot.summary)
