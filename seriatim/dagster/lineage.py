"""The last commits of a table up to one of its snapshots, as a table in Markdown: what a person sees of a run."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import dropwhile, islice
from typing import Final
from urllib.parse import quote

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from seriatim.dagster.ranges import ranges
from seriatim.inspection.history import Commit, Cut, ForeignCommit, HistoryEntry, history
from seriatim.times import readable

_COMMITS: Final = 8
_OPERATIONS: Final = 3  # named of each commit
_HEADER: Final = ("snapshot", "time (UTC)", "base", "run", "attempts", "rows", "operations")


def lineage_markdown(table: Table, snapshot_id: int, branch: str = MAIN_BRANCH) -> str | None:
    """Return the commit that made a snapshot and those before it, newest first; None: the branch has it no longer.

    Runs are links within the Dagster UI.
    """
    entries = dropwhile(lambda entry: snapshot_id not in _snapshot_ids(entry), history(table, branch))
    shown = list(islice(entries, _COMMITS))
    return _markdown(_row(entry) for entry in shown) if shown else None


def _snapshot_ids(entry: HistoryEntry) -> tuple[int, ...]:
    match entry:
        case Commit():
            return entry.snapshot_ids
        case ForeignCommit():
            return (entry.snapshot_id,)
        case Cut():
            return ()


def _row(entry: HistoryEntry) -> tuple[str, ...]:
    match entry:
        case Commit():
            return (
                str(entry.snapshot_ids[-1]),
                readable(entry.committed_at_ms),
                "empty table" if entry.base_snapshot_id is None else str(entry.base_snapshot_id),
                "" if entry.run_id is None else f"[{_plain(entry.run_id[:8])}](/runs/{quote(entry.run_id, safe='')})",
                "" if entry.attempts is None else str(entry.attempts),
                _rows(entry),
                _operations(entry),
            )
        case ForeignCommit():
            made_by = f"made by {entry.made_by}" if entry.made_by else "made by somebody else"
            return (str(entry.snapshot_id), readable(entry.committed_at_ms), "", "", "", "", _plain(made_by))
        case Cut():
            return ("older ones are expired", "", "", "", "", "", "")


def _rows(commit: Commit) -> str:
    if commit.rows_added is None or commit.rows_removed is None:
        return f"~ +{commit.engine.records_added} -{commit.engine.records_deleted}"
    return f"+{commit.rows_added} -{commit.rows_removed}"


def _operations(commit: Commit) -> str:
    if commit.delta_versions:
        return f"Delta version {ranges(commit.delta_versions)}"
    more = len(commit.operation_ids) - _OPERATIONS
    named = ", ".join(_plain(operation_id) for operation_id in commit.operation_ids[:_OPERATIONS])
    return f"{named} and {more} more" if more > 0 else named


def _markdown(rows: Iterable[tuple[str, ...]]) -> str:
    lines = [_HEADER, tuple("---" for _ in _HEADER), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    """Return a text that others chose so that Markdown shows it as it is, in its cell."""
    escaped = "".join(f"\\{each}" if each in r"\`*_[]#|<>~&" else each for each in text)
    return " ".join(escaped.split())
