"""What upkeep did, or would do: the values it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seriatim.commit import Receipt


@dataclass(frozen=True, slots=True)
class Orphan:
    """A file that nothing in the table needs."""

    location: str
    size: int
    modified_at_ms: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the removal of orphans has come."""

    table: str
    files_listed: int
    orphans: int  # found so far; some may turn out to be needed
    removed: int


@dataclass(frozen=True, slots=True)
class OrphanReport:
    """What the removal of orphans found, and what it removed."""

    table: str
    is_dry_run: bool
    older_than_s: float
    folders: tuple[str, ...]  # what was listed
    folders_skipped: tuple[str, ...] = ()  # outside the table's location, where files of others may lie
    files_listed: int = 0
    files_needed: int = 0  # of those listed
    files_young: int = 0  # not needed, but too young, or of an age that the file system does not tell
    orphans: int = 0  # what was removed, or would be
    bytes_orphaned: int = 0
    snapshots_recent: int = 0  # made within the age: what they and their parents reach stays, expired or not
    rescued: int = 0  # looked like orphans when they were listed, and are needed by now
    removed: int = 0
    bytes_removed: int = 0
    failures: tuple[str, ...] = ()  # why files could not be deleted; the first few
    failed: int = 0
    examples: tuple[Orphan, ...] = ()  # the first few; `on_orphan` is told of all


@dataclass(frozen=True, slots=True)
class ExpiryReport:
    """What expiry took from the history, or would take."""

    table: str
    is_dry_run: bool
    is_gc_disabled: bool  # the table says gc.enabled=false, so nothing was done
    expired: tuple[int, ...]  # snapshot ids, oldest first
    refs_removed: tuple[str, ...]
    retained: Mapping[str, int]  # snapshots that are left, by branch
    kept_for_ledger: tuple[int, ...]  # would have been expired, but the ledger could not be read without them
    attempts: int = 0  # at the commit; 0: there was nothing to commit


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """What a compaction would rewrite on the table as it is."""

    table: str
    base_snapshot_id: int | None  # None: the branch has no snapshot
    files_seen: int
    files: int  # to be rewritten
    files_after: int  # at most, instead of those
    bytes: int
    files_left: int  # small, or with deletes, but of a spec, a format or a table that is left as it is


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What is wrong with a branch's history, and the commit that mended it."""

    table: str
    branch: str
    is_dry_run: bool
    cut_at: int | None  # the oldest snapshot that is left, where what came before is gone; None: not cut
    ledger_location: str | None  # None: the history names no ledger file
    ledger_problem: str | None  # why that file cannot be read; None: it can
    receipt: Receipt | None = None  # None: nothing was committed

    @property
    def is_whole(self) -> bool:
        """Whether there was nothing to repair."""
        return self.cut_at is None and self.ledger_problem is None


@dataclass(frozen=True, slots=True)
class UpkeepReport:
    """What one round of upkeep did, or would do."""

    expiry: ExpiryReport
    plan: CompactionPlan
    orphans: OrphanReport
    compaction: Receipt | None = field(default=None)  # None: a dry run, or nothing to rewrite
