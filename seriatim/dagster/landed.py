"""What of a run's change is in the table: asked of the table's history and ledger, whatever became of the run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, assert_never

from pyiceberg.table import Table

from seriatim.dagster.failed_run import RunsChange
from seriatim.inspection import Applied, CannotTell, Commit, Cut, ForeignCommit, NotApplied, history, lookup_in

_OPERATIONS_MAX: Final = 200  # looked up; a run of more partitions is told so
_COMMITS_MAX: Final = 20


class Verdict(Enum):
    """How much of it is there."""

    LANDED = "all of it has landed"
    PARTLY = "a part of it has landed"
    NOT_LANDED = "nothing of it has landed"
    UNKNOWN = "it is not known whether it has landed"


@dataclass(frozen=True, slots=True)
class Landed:
    """What was found, as of one head of the table."""

    head_snapshot_id: int | None  # None: the table is empty, or not there
    applied: Mapping[str, int | None]  # operation id -> snapshot; None: no longer known
    missing: tuple[str, ...]
    unclear: Mapping[str, str]  # why it cannot be told
    commits: tuple[Commit, ...]  # of the chain's runs, newest first

    @property
    def verdict(self) -> Verdict:
        """Say how much of the change is there."""
        if self.unclear or not (self.applied or self.missing):
            return Verdict.UNKNOWN
        if not self.missing:
            return Verdict.LANDED
        return Verdict.PARTLY if self.applied else Verdict.NOT_LANDED

    def next_step(self) -> str:
        """Say what to do; a re-execution is known by the same names, a new launch may be a change of its own."""
        match self.verdict:
            case Verdict.LANDED:
                return "Nothing has to be mended: re-executing it changes nothing, and records what was not recorded."
            case Verdict.PARTLY:
                return "Re-execute it: what has landed is left out, the rest is applied once."
            case Verdict.NOT_LANDED:
                return (
                    "Mend what failed and re-execute it, do not launch it anew. A step that has outlived the run may "
                    "land it yet; then the re-execution changes nothing."
                )
            case Verdict.UNKNOWN:
                return "Find out before anything is launched again: `seriatim history`, `seriatim lookup`."
        assert_never(self.verdict)


def landed(table: Table | None, change: RunsChange) -> Landed:
    """Tell what of a run's change is in the table's main branch, as it was loaded; None: there is no table."""
    if table is None:
        wanted = (*change.operation_ids, *map(_step, change.streams))
        return Landed(None, {}, wanted, {}, ())
    commits = tuple(_commits_of(table, change.chain))
    applied: dict[str, int | None] = {}
    missing: list[str] = []
    unclear: dict[str, str] = {}
    for operation_id in change.operation_ids[:_OPERATIONS_MAX]:
        match lookup_in(table, operation_id, issued_at_ms=change.issued_at_ms):
            case Applied(snapshot_id=snapshot_id):
                applied[operation_id] = snapshot_id
            case NotApplied():
                missing.append(operation_id)
            case CannotTell(reason=reason):
                unclear[operation_id] = reason
    unclear |= dict.fromkeys(change.operation_ids[_OPERATIONS_MAX:], f"only {_OPERATIONS_MAX} were looked up")
    for stream in change.streams:
        steps = _steps(commits, stream, change.run_id)
        applied |= steps
        if not steps and _reaches_back(table, change.created_at_ms):
            missing.append(_step(stream))
        elif not steps:
            unclear[_step(stream)] = "the history does not reach back to when the run was made"
    head = table.current_snapshot()
    return Landed(head.snapshot_id if head else None, applied, tuple(missing), unclear, commits[:_COMMITS_MAX])


def _commits_of(table: Table, run_ids: Collection[str]) -> list[Commit]:
    return [entry for entry in history(table) if isinstance(entry, Commit) and entry.run_id in run_ids]


def _steps(commits: Sequence[Commit], stream: str, run_id: str) -> dict[str, int | None]:
    """Return the steps of a stream that one run took; another run of its chain may have taken an earlier one."""
    return {
        operation_id: commit.snapshot_ids[-1]
        for commit in commits
        if commit.run_id == run_id
        for operation_id in commit.operation_ids
        if operation_id.rpartition("@")[0] == stream
    }


def _reaches_back(table: Table, at_ms: int | None) -> bool:
    """Whether every commit since then is still in the history."""
    oldest_ms: int | None = None
    for entry in history(table):
        match entry:
            case Commit() | ForeignCommit():
                oldest_ms = entry.committed_at_ms
            case Cut():
                return at_ms is not None and oldest_ms is not None and oldest_ms < at_ms
    return True


def _step(stream: str) -> str:
    return f"{stream}@..."
