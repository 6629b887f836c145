"""What a person sees: a history and conflicts as lists, a look-up as a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from seriatim.cli.listing import Cell, Column, Listing
from seriatim.conflict_events import ConflictEvent
from seriatim.inspection import Applied, CannotTell, Commit, Cut, ForeignCommit, HistoryEntry, Lookup, NotApplied
from seriatim.inspection.history import Engine
from seriatim.times import readable

_HISTORY: Final = (
    Column("time (UTC)", in_headline=True),
    Column("snapshot", in_headline=True),
    Column("rows", is_number=True, in_headline=True),
    Column("attempts", is_number=True),
    Column("run"),
    Column("base", is_spare=True),
    Column("sums"),
    Column("operations"),
)
_DELTA_VERSION: Final = Column("Delta version", is_number=True)  # Where there is any.
_CONFLICTS: Final = (
    Column("time (UTC)", in_headline=True),
    Column("attempt", is_number=True),
    Column("wasted", is_number=True),
    Column("loser"),
    Column("loser's run", is_spare=True),
    Column("winner"),
    Column("winner's run", is_spare=True),
    Column("winner's snapshot"),
    Column("read", is_spare=True),
    Column("met", is_spare=True),
)
_NAMELESS: Final = "(no operation id)"
_EMPTY: Final = "(empty table)"
_CARRIED: Final = "~ rows as the snapshot counts them: those that were only carried over to another file count, too."


def history_listing(table: str, entries: Sequence[HistoryEntry]) -> Listing:
    """Return a history, newest commit first, with what there is to say about it."""
    rows = [_entry_row(entry) for entry in entries if not isinstance(entry, Cut)]
    notes = list(_history_notes(table, entries))
    versions = [_delta_versions(entry) for entry in entries if not isinstance(entry, Cut)]
    if not any(versions):
        return Listing(_HISTORY, rows, notes)
    of_mirror = [(*row[:2], cell, *row[2:]) for row, cell in zip(rows, versions, strict=True)]
    return Listing((*_HISTORY[:2], _DELTA_VERSION, *_HISTORY[2:]), of_mirror, notes)


def conflicts_listing(table: str, source: str, conflicts: Sequence[ConflictEvent]) -> Listing:
    """Return conflicts, newest first."""
    wasted_ms = sum(conflict.wasted_ms for conflict in conflicts)
    count = f"{len(conflicts)} conflict{'' if len(conflicts) == 1 else 's'}"
    note = f"{count}, {wasted_ms:,} ms wasted." if conflicts else f"{source} has no conflicts of {table}."
    return Listing(_CONFLICTS, [_conflict_row(conflict) for conflict in conflicts], [note])


def lookup_sentence(table: str, found: Lookup) -> str:
    """Say what became of an operation."""
    match found:
        case Applied():
            return f"{table}: {found.operation_id} has been applied{_by(found)}."
        case NotApplied():
            of_stream = f" (its stream is at {found.watermark})" if found.watermark is not None else ""
            return f"{table}: {found.operation_id} has not been applied{of_stream}: {found.proof}."
        case CannotTell():
            return f"{table}: it cannot be told whether {found.operation_id} has been applied: {_why(found)}."
        case _:
            assert_never(found)


def _by(found: Applied) -> str:
    if found.snapshot_id is None:
        return "; it is no longer known by which snapshot"
    when = f" at {readable(found.committed_at_ms)} UTC" if found.committed_at_ms is not None else ", expired since"
    where = f" (its stream is at {found.watermark})" if found.watermark is not None else ""
    return f" by snapshot {found.snapshot_id}{when}{where}"


def _why(found: CannotTell) -> str:
    if found.forgotten_until_ms is None:
        return found.reason
    since = f"{readable(found.forgotten_until_ms)} UTC"
    return f"{found.reason}. If it was issued after {since}, say so with --issued-at"


def _entry_row(entry: Commit | ForeignCommit) -> Sequence[Cell]:
    time = (readable(entry.committed_at_ms),)
    match entry:
        case ForeignCommit():
            what = f"(foreign {entry.engine.operation or 'commit'}{f' by {entry.made_by}' if entry.made_by else ''})"
            return (time, (str(entry.snapshot_id),), (_carried(entry.engine),), (), (), (), (), (what,))
        case Commit():
            return (
                time,
                (str(entry.snapshot_ids[-1]),),
                (_rows(entry),),
                (str(entry.attempts),) if entry.attempts is not None else (),
                (entry.run_id,) if entry.run_id is not None else (),
                _base(entry),
                tuple(f"{name} {total:+}" for name, total in entry.sums.items()),
                tuple(_operations(entry)),
            )
        case _:
            assert_never(entry)


def _delta_versions(entry: Commit | ForeignCommit) -> Cell:
    versions = entry.delta_versions if isinstance(entry, Commit) else ()
    return (f"{versions[0]} to {versions[-1]}",) if len(versions) > 1 else tuple(map(str, versions))


def _base(commit: Commit) -> Cell:
    base = _snapshot(commit.base_snapshot_id, _EMPTY)
    if commit.computed_on_snapshot_id is None:
        return base
    return (*base, f"(computed on {commit.computed_on_snapshot_id})")


def _operations(commit: Commit) -> Iterator[str]:
    if not commit.is_whole:
        yield f"(set back into: {len(commit.snapshot_ids)} of {commit.snapshots_made} snapshots)"
    yield from commit.operation_ids
    if not commit.operation_ids:
        yield _NAMELESS


def _rows(commit: Commit) -> str:
    if commit.rows_added is None or commit.rows_removed is None:
        return _carried(commit.engine)
    return f"+{commit.rows_added} -{commit.rows_removed}"


def _carried(engine: Engine) -> str:
    return f"~+{engine.records_added} -{engine.records_deleted}"


def _history_notes(table: str, entries: Sequence[HistoryEntry]) -> Iterator[str]:
    if not entries:
        yield f"{table}: nothing has been committed."
    if any(
        isinstance(entry, ForeignCommit) or (isinstance(entry, Commit) and entry.rows_added is None)
        for entry in entries
    ):
        yield _CARRIED
    for entry in entries:
        if isinstance(entry, Cut):
            ledger = (
                "the ledger still knows which operations were applied"
                if entry.is_ledger_whole
                else "which operations were applied in it is not known: `seriatim lookup` cannot tell"
            )
            yield f"Older history is gone (snapshots expired before {entry.oldest_snapshot_id}); {ledger}."


def _conflict_row(conflict: ConflictEvent) -> Sequence[Cell]:
    return (
        (readable(conflict.occurred_at_ms),),
        (str(conflict.attempt),),
        (f"{conflict.wasted_ms:,} ms",),
        conflict.loser_operation_ids or (_NAMELESS,),
        (conflict.loser_run_id,),
        conflict.winner_operation_ids or (_NAMELESS,),
        (conflict.winner_run_id,) if conflict.winner_run_id is not None else (),
        _snapshot(conflict.winner_snapshot_id, "(no new snapshot)"),
        _snapshot(conflict.expected_snapshot_id, _EMPTY),
        _snapshot(conflict.actual_snapshot_id, _EMPTY),
    )


def _snapshot(snapshot_id: int | None, otherwise: str) -> Cell:
    return (str(snapshot_id) if snapshot_id is not None else otherwise,)
