"""Folds the operation ids that commits carry into a ledger file, and mends a ledger that was cut off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.typedef import Identifier

from seriatim.commit import (
    LedgerPolicy,
    Observer,
    Receipt,
    RetentionPolicy,
    RetryPolicy,
    Writer,
    ledger_file,
    mirrors,
    summary,
)
from seriatim.commit.ledger import Ledger
from seriatim.commit.ledger_names import Names
from seriatim.commit.ledger_words import LEDGER_FORMAT
from seriatim.commit.loop import ANY_BASE, Call, Ready, Settings
from seriatim.commit.pin import Pin
from seriatim.commit.staging import Staged
from seriatim.commit.submission import submit
from seriatim.errors import UpkeepRefusedError
from seriatim.system import Clock
from seriatim.upkeep.reports import RepairReport

# How long ids are remembered is for the writers to say, who know how late one may come back: upkeep forgets nothing.
REMEMBER: Final = LedgerPolicy(window_s=100 * 365 * 24 * 3600.0)
_ALL: Final = replace(REMEMBER, recent_max=0, recent_bytes_max=0)  # Whatever a commit would carry goes into a file.

KEEP: Final = RetentionPolicy(snapshots_min=None)  # `expire` is there to expire; a commit of upkeep does not.


def fold(
    catalog: Catalog,
    identifier: str | Identifier,
    *,
    branch: str = MAIN_BRANCH,
    ledger: LedgerPolicy | None = None,
    retention: RetentionPolicy | None = None,
    policy: RetryPolicy | None = None,
    writer: Writer | None = None,
    observer: Observer | None = None,
    clock: Clock | None = None,
) -> Receipt:
    """Land one empty snapshot whose ledger file holds every operation that was applied before.

    Nothing is forgotten, unless a `ledger` policy says after which time. No history is expired, unless a `retention`
    policy or the table says how much. Afterwards the newest commit carries nothing but the name of that file. Where it
    is so already, and where the newest commit is Seriatim's, nothing is committed. A table that Seriatim has not
    written yet gets its ledger by it, so that its history may be expired from then on.

    Raises:
        UpkeepRefusedError: the history is cut, so that a file could not vouch for what came before; `repair` it first.
            Or a snapshot would be needed on the mirror of a Delta table.
        LedgerUnreadableError: the ledger file is gone or damaged; nothing was written.
        ConflictError, OutcomeUnknownError, TableReplacedError: as `apply`.
    """
    policy_of_ledger = replace(ledger or _ALL, recent_max=0, recent_bytes_max=0, accepts_cut_history=False)
    kept = retention or KEEP
    settings = Settings.of(Names(), branch, ANY_BASE, policy, policy_of_ledger, kept, writer, observer, clock, None)
    call = Call(catalog, identifier, settings)
    return call.run(_EmptyCommit(call.attempts.name, settings, _can_be_folded))


def repair(
    catalog: Catalog,
    identifier: str | Identifier,
    *,
    dry_run: bool = True,
    branch: str = MAIN_BRANCH,
    retention: RetentionPolicy | None = None,
    policy: RetryPolicy | None = None,
    writer: Writer | None = None,
    observer: Observer | None = None,
    clock: Clock | None = None,
) -> RepairReport:
    """Say what is wrong with a branch's history and, unless it is a dry run, accept what is lost.

    The one commit that it lands takes what was applied in the lost part for not applied, refuses operations that say
    that they were issued before it, and makes the ledger whole from then on. Of a whole history nothing is committed.

    Raises:
        LedgerUnreadableError: a newer Seriatim wrote the ledger; nothing is wrong with it.
        UpkeepRefusedError: the branch is the mirror of a Delta table, where nothing was lost that a mirror needs.
        ConflictError, OutcomeUnknownError, TableReplacedError: as `apply`.
    """
    table = catalog.load_table(identifier)
    name = ".".join(table.name())
    ledger_file.forget_all()  # What the process has read before may be gone.
    report = replace(_diagnosis(name, table, Pin.of(table, branch)), is_dry_run=dry_run)
    if dry_run or report.is_whole:
        return report
    accepting = replace(_ALL, accepts_cut_history=True)
    kept = retention or KEEP
    settings = Settings.of(Names(), branch, ANY_BASE, policy, accepting, kept, writer, observer, clock, None)
    call = Call(catalog, identifier, settings)
    return replace(report, receipt=call.run(_EmptyCommit(call.attempts.name, settings, _is_to_be_repaired)))


@dataclass(slots=True)
class _EmptyCommit:
    """A commit without rows, on each base for which it is wanted."""

    name: str
    settings: Settings
    is_wanted: Callable[[str, Table, Pin], bool]
    rebases: int = field(default=0, init=False)

    def ready(self, table: Table, pin: Pin, pending: tuple[str, ...], attempt: int) -> Ready | None:
        del pending, attempt
        if not self.is_wanted(self.name, table, pin):
            return None
        if mirrors.is_mirror(table.metadata, self.settings.branch):
            raise UpkeepRefusedError(
                self.name,
                reason="it is the mirror of a Delta table, which a commit of anybody else's would end",
                remedy="A mirror needs no ledger: what has landed is told by its newest snapshot",
            )
        write = partial(submit, staged=Staged(), branch=self.settings.branch, now_ms=self.settings.clock.now_ms())
        return Ready(write, {summary.READS: summary.described(())}, staged_files=(), rows=(0, 0))

    def drop(self) -> None:
        """Nothing is kept between attempts."""


def _can_be_folded(name: str, table: Table, pin: Pin) -> bool:
    """Tell whether there is something to fold.

    Raises:
        UpkeepRefusedError: the history is cut.
    """
    ledger = Ledger.at(name, table, pin, _ALL)
    if ledger.cut_at is not None:
        raise UpkeepRefusedError(
            name,
            reason=f"the history of {pin.branch} is cut at snapshot {ledger.cut_at}, so its ledger would not be whole",
            remedy="Look at it with `repair`",
        )
    head = table.metadata.snapshot_by_name(pin.branch)
    is_ours = head is not None and head.summary is not None and LEDGER_FORMAT in head.summary.additional_properties
    return not is_ours or bool(ledger.page.entries or ledger.page.watermarks)


def _is_to_be_repaired(name: str, table: Table, pin: Pin) -> bool:
    return not _diagnosis(name, table, pin).is_whole


def _diagnosis(name: str, table: Table, pin: Pin) -> RepairReport:
    ledger = Ledger.at(name, table, pin, _ALL)
    file, problem = ledger.page.file, None
    if file is not None:
        try:
            ledger_file.read(table.io, file.location)
        except (FileNotFoundError, ledger_file.DamagedLedgerError) as err:
            problem = str(err) or type(err).__name__
    return RepairReport(
        table=name,
        branch=pin.branch,
        is_dry_run=True,
        cut_at=ledger.cut_at,
        ledger_location=file.location if file is not None else None,
        ledger_problem=problem,
    )
