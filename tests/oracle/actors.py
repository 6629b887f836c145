"""Who takes part in a schedule: writers, rivals who use PyIceberg alone, upkeep; each with a catalog that has gates."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate

from seriatim.commit import Base, Change, Conflict, Event, RetentionPolicy, RetryPolicy, apply
from seriatim.commit.observe import GaveUp, Landed
from seriatim.errors import ConflictError
from seriatim.upkeep import compact, expire
from tests.faults.bank import Bank
from tests.faults.catalog import REPORTS, Fault, Landing
from tests.faults.clock import ManualClock
from tests.faults.fileio import Kind, Step, WatchedCatalog
from tests.faults.scheduler import Gate, Scheduler
from tests.oracle.serial import RefusedError
from tests.oracle.work import Work

_ATTEMPTS_MAX: Final = 8


class GatedCatalog(WatchedCatalog):
    """A catalog that stops at the gates of a scheduler."""

    def __init__(self, scheduler: Scheduler, **properties: str) -> None:
        self.scheduler = scheduler
        super().__init__("bank", self, **properties)

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        self.scheduler.reach(Gate.BEFORE_CATALOG)
        try:
            return super().commit_table(table, requirements, updates)
        finally:
            self.scheduler.reach(Gate.AFTER_CATALOG)

    def before(self, step: Step, kind: Kind) -> None:
        pass

    def after(self, step: Step, kind: Kind) -> None:
        if step is Step.CLOSE and kind is Kind.MANIFEST_LIST:
            self.scheduler.reach(Gate.FILES)

    def notify(self, event: Event) -> None:
        """Stop when the core has heard what became of a commit."""
        if isinstance(event, Conflict | Landed | GaveUp):
            self.scheduler.reach(Gate.REPLY)


@dataclass(frozen=True, slots=True)
class Actor:
    """What one thread does: `operation` is what it makes of the balances (None: nothing), if `run` says that it did."""

    operation: str | None
    run: Callable[[GatedCatalog], bool]
    is_ours: bool = True  # it applies its operation by name


def writer(operation: str, fault: Callable[[], Fault] | None = None) -> Actor:
    """Return who applies an operation; `fault` is what happens to its first commit."""

    def run(catalog: GatedCatalog) -> bool:
        if fault is not None:
            catalog.fail(fault())

        def change(base: Base) -> Change:
            computed = work(base)
            catalog.scheduler.reach(Gate.COMPUTED)
            return computed

        work = Work(operation, has_read=lambda: catalog.scheduler.reach(Gate.READ))
        with suppress(RefusedError):
            apply(catalog, Bank.identifier, change, operation_ids=[operation], **settings(catalog))
            return True
        return False

    return Actor(operation, run)


def rival(operation: str) -> Actor:
    """Return who puts or closes an account by PyIceberg alone: a blind write, which is right on whatever base."""
    what, account, *rest = operation.split("|")

    def once(catalog: GatedCatalog) -> None:
        table = catalog.load_table(Bank.identifier)
        catalog.scheduler.reach(Gate.READ)
        if what == "close":
            table.delete(f"id == {account}")
            return
        row = {"id": int(account), "bal": int(rest[0])}
        table.overwrite(pa.Table.from_pylist([row], schema=table.schema().as_arrow()), f"id == {account}")

    def run(catalog: GatedCatalog) -> bool:
        for _ in range(_ATTEMPTS_MAX):
            try:
                once(catalog)
            except (CommitFailedException, ValidationException):
                continue
            return True
        return False

    return Actor(operation, run, is_ours=False)


def _compact(catalog: GatedCatalog) -> bool:
    with suppress(ConflictError):
        compact(catalog, Bank.identifier, target_bytes=2**20, **settings(catalog))
    return True


def _expire(catalog: GatedCatalog) -> bool:
    with suppress(CommitFailedException):
        expire(
            catalog,
            Bank.identifier,
            retention=RetentionPolicy(snapshots_min=1),
            dry_run=False,
            policy=RetryPolicy(attempts_max=_ATTEMPTS_MAX),
            clock=ManualClock(),
            chance=random.Random(1),
        )
    return True


def lost(report: str, landing: Landing) -> Callable[[], Fault]:
    """Return the fault of a reply that is lost."""
    return lambda: Fault(REPORTS[report](), landing)


COMPACTION: Final = Actor(None, _compact, is_ours=False)
EXPIRY: Final = Actor(None, _expire, is_ours=False)


def settings(catalog: GatedCatalog) -> dict[str, Any]:
    """Return what makes a call do the same each time."""
    return {
        "clock": ManualClock(),
        "chance": random.Random(1),
        "observer": catalog,
        "policy": RetryPolicy(attempts_max=_ATTEMPTS_MAX),
    }


class Stage:
    """One table to begin with, and as many copies of its beginning as there are schedules."""

    def __init__(self, bank: Bank) -> None:
        self._bank, self._metadata_location = bank, bank.table().metadata_location

    def reset(self) -> None:
        """Put the table back to its beginning: another entry in the catalog, on the same metadata file."""
        with self._bank.rival() as catalog:
            catalog.drop_table(Bank.identifier)
            catalog.register_table(Bank.identifier, self._metadata_location)

    def catalog(self, scheduler: Scheduler) -> GatedCatalog:
        """Return a catalog object for one actor."""
        return GatedCatalog(scheduler, **self._bank.properties())
