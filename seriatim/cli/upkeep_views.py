"""What upkeep and repair did, or would do: for a person, for a machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seriatim.cli.documents import Json
from seriatim.commit import Receipt
from seriatim.times import iso
from seriatim.upkeep import CompactionPlan, ExpiryReport, OrphanReport, RepairReport, UpkeepReport

_HOUR_S: Final = 3600


def upkeep_lines(report: UpkeepReport) -> Iterator[str]:
    """Yield what was done, or would be, one step a line."""
    is_dry_run = report.orphans.is_dry_run
    yield f"{report.expiry.table}, dry run: nothing was changed." if is_dry_run else f"{report.expiry.table}:"
    yield f"  history  {_expiry(report.expiry)}"
    yield f"  files    {_compaction(report.plan, report.compaction)}"
    yield f"  orphans  {_orphans(report.orphans)}"
    for failure in report.orphans.failures:
        yield f"           not deleted: {failure}"
    for folder in report.orphans.folders_skipped:
        yield f"           not looked at, as files of others may lie there: {folder}"
    if is_dry_run:
        yield "`--apply` does it; what expiry makes an orphan comes on top of that, once it is old enough."


def repair_lines(report: RepairReport) -> Iterator[str]:
    """Yield what is wrong, and what was done about it."""
    where = f"{report.table}, branch {report.branch}"
    if report.is_whole:
        yield f"{where}: the ledger is whole; there is nothing to repair."
        return
    if report.cut_at is not None:
        yield f"{where}: the history is cut at snapshot {report.cut_at}; what was applied before it is not known."
    if report.ledger_problem is not None:
        yield f"{where}: the ledger file {report.ledger_location} cannot be read: {report.ledger_problem}."
    if report.receipt is not None:
        yield (
            "Repaired: what was lost counts as not applied, operations issued before now are refused, and the ledger "
            f"is whole from snapshot {', '.join(map(str, report.receipt.snapshot_ids))} on."
        )
        return
    yield (
        "Restore the ledger file if there is a copy. Otherwise, once you have looked and know that nothing is under "
        "way, `--apply` takes what was lost for not applied."
    )


def upkeep_document(report: UpkeepReport) -> Json:
    """Return the report of a round of upkeep."""
    return {
        "table": report.expiry.table,
        "is_dry_run": report.orphans.is_dry_run,
        "expiry": {
            "is_gc_disabled": report.expiry.is_gc_disabled,
            "expired_snapshot_ids": report.expiry.expired,
            "refs_removed": report.expiry.refs_removed,
            "snapshots_retained": report.expiry.retained,
            "kept_for_ledger_snapshot_ids": report.expiry.kept_for_ledger,
        },
        "compaction": {
            "files_seen": report.plan.files_seen,
            "files": report.plan.files,
            "files_after": report.plan.files_after,
            "bytes": report.plan.bytes,
            "files_left": report.plan.files_left,
            "snapshot_ids": report.compaction.snapshot_ids if report.compaction is not None else [],
        },
        "orphans": _orphans_document(report.orphans),
    }


def repair_document(report: RepairReport) -> Json:
    """Return what is wrong with a branch, and the commit that mended it."""
    return {
        "table": report.table,
        "branch": report.branch,
        "is_dry_run": report.is_dry_run,
        "is_whole": report.is_whole,
        "cut_at_snapshot_id": report.cut_at,
        "ledger_location": report.ledger_location,
        "ledger_problem": report.ledger_problem,
        "snapshot_ids": report.receipt.snapshot_ids if report.receipt is not None else [],
    }


def _expiry(report: ExpiryReport) -> str:
    if report.is_gc_disabled:
        return "kept whole: the table says gc.enabled=false"
    left = ", ".join(f"{count} left on {branch}" for branch, count in report.retained.items())
    said = f"{_count(len(report.expired), 'snapshot')} {_done('expired', report.is_dry_run)}; {left or 'none left'}"
    if report.refs_removed:
        said += f"; refs {_done('removed', report.is_dry_run)}: {', '.join(report.refs_removed)}"
    if report.kept_for_ledger:
        said += f"; {_count(len(report.kept_for_ledger), 'snapshot')} kept for the ledger"
    return said


def _compaction(plan: CompactionPlan, done: Receipt | None) -> str:
    if plan.files == 0 or (done is not None and not done.snapshot_ids):
        return f"nothing to compact among {_count(plan.files_seen, 'file')}"
    if done is not None:
        return f"{_count(done.files_removed, 'file')} compacted into {done.files_added}"
    of = f"{plan.files} of {_count(plan.files_seen, 'file')} ({_size(plan.bytes)})"
    return f"{of} would be compacted into at most {plan.files_after}"


def _orphans(report: OrphanReport) -> str:
    if report.is_dry_run:
        what = f"{_count(report.orphans, 'file')} ({_size(report.bytes_orphaned)}) would be removed"
    else:
        what = f"{_count(report.removed, 'file')} ({_size(report.bytes_removed)}) removed"
        what += f", {report.failed} could not be" if report.failed else ""
    young = f"; {report.files_young} not needed but younger than {report.older_than_s / _HOUR_S:g} h"
    return f"{what} of {report.files_listed} looked at" + (young if report.files_young else "")


def _orphans_document(report: OrphanReport) -> Json:
    return {
        "older_than_s": report.older_than_s,
        "folders": report.folders,
        "folders_skipped": report.folders_skipped,
        "files_listed": report.files_listed,
        "files_needed": report.files_needed,
        "files_young": report.files_young,
        "files_orphaned": report.orphans,
        "bytes_orphaned": report.bytes_orphaned,
        "files_rescued": report.rescued,
        "files_removed": report.removed,
        "bytes_removed": report.bytes_removed,
        "files_failed": report.failed,
        "failures": report.failures,
        "examples": [
            {"location": each.location, "bytes": each.size, "modified_at": iso(each.modified_at_ms)}
            for each in report.examples
        ],
    }


def _done(what: str, is_dry_run: bool) -> str:
    return f"would be {what}" if is_dry_run else what


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _size(size: int) -> str:
    value = float(size)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.1f} {unit}"
        value /= 1024
    return f"{value:,.1f} TiB"
