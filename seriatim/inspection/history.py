"""A branch's history as commits: who changed what, on which base, and where the history ends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot

from seriatim.commit import mirrors, summary
from seriatim.commit.ledger import Ledger
from seriatim.commit.ledger_policy import LedgerPolicy
from seriatim.commit.lineage import is_beginning, walk
from seriatim.commit.pin import Pin
from seriatim.errors import InvalidChangeError, LedgerUnreadableError


@dataclass(frozen=True, slots=True)
class Engine:
    """What the summaries of a commit's snapshots say of it in Iceberg's own words."""

    operation: str | None  # append, overwrite, delete or replace, of the newest snapshot; None: it does not say
    records_added: int  # rows that were carried over to another file count, too
    records_deleted: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of Seriatim."""

    commit_id: str
    snapshot_ids: tuple[int, ...]  # in the order in which they landed; those that are still in the history
    snapshots_made: int
    is_whole: bool  # False: the branch was set back into the middle of it, so that its last rows are not there
    committed_at_ms: int
    operation_ids: tuple[str, ...]
    run_id: str | None  # None: it was not part of a run
    host: str | None  # None: the commit does not say
    base_snapshot_id: int | None  # None: the table was empty
    computed_on_snapshot_id: int | None  # None: on its base; otherwise it was rebased
    attempts: int | None  # None: the commit does not say, as those before 0.1
    rows_added: int | None  # rows of the change, without those carried over; None: the commit does not say
    rows_removed: int | None
    engine: Engine
    sums: Mapping[str, int] = field(default_factory=dict)  # by how much it says it moves the totals of columns
    delta_versions: tuple[int, ...] = ()  # of a mirror: the Delta version that each of its snapshots is


@dataclass(frozen=True, slots=True)
class ForeignCommit:
    """A snapshot that somebody else made."""

    snapshot_id: int
    committed_at_ms: int
    engine: Engine
    made_by: str | None  # the engine and its version; None: it does not say


@dataclass(frozen=True, slots=True)
class Cut:
    """What came before is no longer in the table: its snapshots were expired."""

    oldest_snapshot_id: int
    base_snapshot_id: int | None  # what came before that one; None: it does not say
    is_ledger_whole: bool  # whether it is still known which operations were applied in what is gone


HistoryEntry = Commit | ForeignCommit | Cut


def history(table: Table, branch: str = MAIN_BRANCH) -> Iterator[HistoryEntry]:
    """Yield the commits of a branch, newest first, and last a `Cut` if older ones are gone.

    The snapshots of one commit are one entry. Nothing but the metadata that was loaded is read, unless the history is
    cut.

    Raises:
        InvalidChangeError: there is no such branch.
    """
    pin = Pin.of(table, branch)
    oldest: Snapshot | None = None
    for commit_id, group in groupby(walk(table.metadata, pin.snapshot_id), key=_commit_id):
        snapshots = list(group)[::-1]
        oldest = snapshots[0]
        if commit_id is None:
            yield from (_foreign(snapshot) for snapshot in reversed(snapshots))
        else:
            yield _commit(commit_id, snapshots)
    if oldest is not None and not is_beginning(oldest):
        yield Cut(oldest.snapshot_id, _base_id(oldest), is_ledger_whole(table, pin))


def _commit_id(snapshot: Snapshot) -> str | None:
    return summary.word(snapshot, summary.COMMIT_ID)


def _commit(commit_id: str, snapshots: Sequence[Snapshot]) -> Commit:
    last = snapshots[-1]
    return Commit(
        commit_id=commit_id,
        snapshot_ids=tuple(snapshot.snapshot_id for snapshot in snapshots),
        snapshots_made=int((summary.word(last, summary.PART) or "1/1").partition("/")[2]),
        is_whole=summary.is_last_part(last),
        committed_at_ms=last.timestamp_ms,
        operation_ids=summary.operation_ids(last),
        run_id=summary.run_id(last),
        host=summary.word(last, summary.HOST),
        base_snapshot_id=_base_id(last),
        computed_on_snapshot_id=_number(last, summary.COMPUTED_ON),
        attempts=_number(last, summary.ATTEMPTS),
        rows_added=_number(last, summary.ROWS_ADDED),
        rows_removed=_number(last, summary.ROWS_REMOVED),
        engine=_engine(snapshots),
        sums=json.loads(summary.word(last, summary.SUMS) or "{}"),
        delta_versions=tuple(each for each in map(mirrors.delta_version, snapshots) if each is not None),
    )


def _foreign(snapshot: Snapshot) -> ForeignCommit:
    words = [summary.word(snapshot, name) for name in ("engine-name", "engine-version")]
    made_by = " ".join(word for word in words if word) or None
    return ForeignCommit(snapshot.snapshot_id, snapshot.timestamp_ms, _engine([snapshot]), made_by)


def _engine(snapshots: Sequence[Snapshot]) -> Engine:
    newest = snapshots[-1].summary
    return Engine(
        operation=newest.operation.value if newest is not None else None,
        records_added=sum(_number(snapshot, "added-records") or 0 for snapshot in snapshots),
        records_deleted=sum(_number(snapshot, "deleted-records") or 0 for snapshot in snapshots),
    )


def _base_id(snapshot: Snapshot) -> int | None:
    base = summary.base_snapshot_id(snapshot)
    if base is summary.EMPTY_TABLE:
        return None
    return base if base is not None else snapshot.parent_snapshot_id


def is_ledger_whole(table: Table, pin: Pin) -> bool:
    """Tell whether it is known of every operation that was applied up to there."""
    try:
        return Ledger.at(".".join(table.name()), table, pin, LedgerPolicy()).cut_at is None
    except (LedgerUnreadableError, InvalidChangeError):  # Of a newer Seriatim, or without its tag.
        return False


def _number(snapshot: Snapshot, name: str) -> int | None:
    text = summary.word(snapshot, name)
    return int(text) if text is not None else None
