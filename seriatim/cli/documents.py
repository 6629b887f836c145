"""What `--json` prints: documents whose keys stay, described in docs/cli.md."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import assert_never

import typer

from seriatim.conflict_events import ConflictEvent
from seriatim.inspection import Applied, CannotTell, Commit, Cut, ForeignCommit, HistoryEntry, Lookup, NotApplied
from seriatim.inspection.history import Engine
from seriatim.times import iso

Json = Mapping[str, object]


def print_json(document: Json) -> None:
    """Print one document."""
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


def print_json_line(document: Json) -> None:
    """Print one document of several, each in a line of its own."""
    typer.echo(json.dumps(document, ensure_ascii=False))


def history_document(table: str, branch: str, entries: Sequence[HistoryEntry]) -> Json:
    """Return a history."""
    return {"table": table, "branch": branch, "history": [_entry(entry) for entry in entries]}


def conflicts_document(table: str, source: str, conflicts: Sequence[ConflictEvent]) -> Json:
    """Return the conflicts of a table."""
    return {"table": table, "from": source, "conflicts": [_conflict(each) for each in conflicts]}


def lookup_document(table: str, branch: str, found: Lookup) -> Json:
    """Return what became of an operation."""
    return {
        "table": table,
        "branch": branch,
        "head_snapshot_id": found.head_snapshot_id,
        "operation_id": found.operation_id,
        **_found(found),
    }


def _found(found: Lookup) -> Json:
    match found:
        case Applied():
            return {
                "status": "applied",
                "snapshot_id": found.snapshot_id,
                "committed_at": iso(found.committed_at_ms),
                "watermark": found.watermark,
            }
        case NotApplied():
            return {"status": "not applied", "proof": found.proof, "watermark": found.watermark}
        case CannotTell():
            return {
                "status": "cannot tell",
                "reason": found.reason,
                "forgotten_until": iso(found.forgotten_until_ms),
            }
        case _:
            assert_never(found)


def _entry(entry: HistoryEntry) -> Json:
    match entry:
        case Commit():
            return {
                "kind": "commit",
                "commit_id": entry.commit_id,
                "committed_at": iso(entry.committed_at_ms),
                "snapshot_ids": entry.snapshot_ids,
                "snapshots_made": entry.snapshots_made,
                "is_whole": entry.is_whole,
                "operation_ids": entry.operation_ids,
                "run_id": entry.run_id,
                "host": entry.host,
                "base_snapshot_id": entry.base_snapshot_id,
                "computed_on_snapshot_id": entry.computed_on_snapshot_id,
                "attempts": entry.attempts,
                "rows_added": entry.rows_added,
                "rows_removed": entry.rows_removed,
                "sums": entry.sums,
                "delta_versions": entry.delta_versions,
                "engine": _engine(entry.engine),
            }
        case ForeignCommit():
            return {
                "kind": "foreign",
                "committed_at": iso(entry.committed_at_ms),
                "snapshot_ids": [entry.snapshot_id],
                "made_by": entry.made_by,
                "engine": _engine(entry.engine),
            }
        case Cut():
            return {
                "kind": "cut",
                "oldest_snapshot_id": entry.oldest_snapshot_id,
                "base_snapshot_id": entry.base_snapshot_id,
                "is_ledger_whole": entry.is_ledger_whole,
            }
        case _:
            assert_never(entry)


def _engine(engine: Engine) -> Json:
    return {
        "operation": engine.operation,
        "records_added": engine.records_added,
        "records_deleted": engine.records_deleted,
    }


def _conflict(conflict: ConflictEvent) -> Json:
    return {
        "event_id": conflict.event_id,
        "occurred_at": iso(conflict.occurred_at_ms),
        "attempt": conflict.attempt,
        "wasted_ms": conflict.wasted_ms,
        "loser": {"run_id": conflict.loser_run_id, "operation_ids": conflict.loser_operation_ids},
        "winner": {
            "run_id": conflict.winner_run_id,
            "operation_ids": conflict.winner_operation_ids,
            "snapshot_id": conflict.winner_snapshot_id,
        },
        "expected_snapshot_id": conflict.expected_snapshot_id,
        "actual_snapshot_id": conflict.actual_snapshot_id,
    }
