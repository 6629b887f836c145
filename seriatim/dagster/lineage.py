"""The last commits of a table up to one of its snapshots, as a table in Markdown: what a person sees of a run."""

from __future__ import annotations

from itertools import dropwhile, islice
from typing import Final

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from seriatim.dagster.markdown import listed, markdown_table, plain, run_link
from seriatim.dagster.ranges import ranges
from seriatim.inspection.history import Commit, Cut, ForeignCommit, HistoryEntry, history
from seriatim.times import readable

_COMMITS: Final = 8
_HEADER: Final = ("snapshot", "time (UTC)", "base", "run", "attempts", "rows", "operations")


def lineage_markdown(table: Table, snapshot_id: int, branch: str = MAIN_BRANCH) -> str | None:
    """Return the commit that made a snapshot and those before it, newest first; None: the branch has it no longer.

    Runs are links within the Dagster UI.
    """
    entries = dropwhile(lambda entry: snapshot_id not in _snapshot_ids(entry), history(table, branch))
    shown = list(islice(entries, _COMMITS))
    return markdown_table(_HEADER, map(_row, shown)) if shown else None


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
                "" if entry.run_id is None else run_link(entry.run_id),
                "" if entry.attempts is None else str(entry.attempts),
                _rows(entry),
                _operations(entry),
            )
        case ForeignCommit():
            made_by = f"made by {entry.made_by}" if entry.made_by else "made by somebody else"
            return (str(entry.snapshot_id), readable(entry.committed_at_ms), "", "", "", "", plain(made_by))
        case Cut():
            return ("older ones are expired", "", "", "", "", "", "")


def _rows(commit: Commit) -> str:
    if commit.rows_added is None or commit.rows_removed is None:
        return f"~ +{commit.engine.records_added} -{commit.engine.records_deleted}"
    return f"+{commit.rows_added} -{commit.rows_removed}"


def _operations(commit: Commit) -> str:
    if commit.delta_versions:
        return f"Delta version {ranges(commit.delta_versions)}"
    return listed(commit.operation_ids)
