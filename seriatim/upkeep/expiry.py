"""Expires history: what each branch keeps by its own bounds stays, and so does whatever else somebody holds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from pyiceberg.catalog import Catalog
from pyiceberg.io import FileIO
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    AssertTableUUID,
    RemoveSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)
from pyiceberg.typedef import Identifier

from seriatim.commit import RetentionPolicy, RetryPolicy, ledger_words, private
from seriatim.commit.ledger import tag_of
from seriatim.commit.lineage import is_beginning, walk
from seriatim.commit.retention import MAX_AGE_MS, expired_ids, is_gc_disabled, removals
from seriatim.errors import TableReplacedError
from seriatim.system import Clock, SystemClock, new_random
from seriatim.upkeep.reports import ExpiryReport

MAX_REF_AGE_MS: Final = "history.expire.max-ref-age-ms"
_STAGED: Final = "wap.id"  # Iceberg's word for a snapshot that waits to be published.
_STAGED_AGE_MS_MIN: Final = 5 * 24 * 3600 * 1000  # Iceberg's own default age.


def expire(
    catalog: Catalog,
    identifier: str | Identifier,
    *,
    retention: RetentionPolicy | None = None,
    dry_run: bool = True,
    policy: RetryPolicy | None = None,
    clock: Clock | None = None,
    chance: random.Random | None = None,
) -> ExpiryReport:
    """Remove the snapshots that no branch keeps, and the refs that are too old, in one catalog commit.

    Each branch keeps what it says itself, else what the table's `history.expire.*` say, else what `retention` says. A
    branch or tag, but for main and the ledger's tags, goes when it is older than its `max-ref-age-ms` or the table's. A
    snapshot that no ref holds goes once it is older than the age. What a tag or a branch keeps stays, and so does what
    the ledger needs to be read: all of a branch that has no ledger yet (`fold` gives it one). `gc.enabled=false` keeps
    everything.

    Files stay where they are: `remove_orphans` removes those that are needed no more.

    Raises:
        CommitFailedException: the table moved under every attempt that the policy allows; nothing was removed.
        Exception: whatever else the catalog raised at the last attempt, if the table does not show that it landed.
        TableReplacedError: the table was dropped and created anew meanwhile; nothing was removed from the new one.
    """
    clock, policy = clock or SystemClock(), policy or RetryPolicy()
    run = _Run(catalog, identifier, retention or RetentionPolicy(), policy, clock, chance or new_random())
    return run.run(dry_run)


@dataclass(slots=True)
class Selection:
    """What is to go from one state of a table, and what stays."""

    expired: tuple[int, ...] = ()  # oldest first
    refs: tuple[str, ...] = ()
    retained: dict[str, int] = field(default_factory=dict)  # snapshots, by branch
    kept_for_ledger: tuple[int, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether everything stays."""
        return not (self.expired or self.refs)


def select(metadata: TableMetadata, io: FileIO, retention: RetentionPolicy, now_ms: int) -> Selection:
    """Return what is to go from the table as it is."""
    if is_gc_disabled(metadata):
        return Selection()
    refs = {name: ref for name, ref in metadata.refs.items() if not _is_too_old(metadata, name, ref, now_ms)}
    kept: set[int] = set()
    for_ledger: set[int] = set()
    retained: dict[str, int] = {}
    for name, ref in refs.items():
        if ref.snapshot_ref_type == SnapshotRefType.TAG:
            kept.add(ref.snapshot_id)
            continue
        lineage = list(walk(metadata, ref.snapshot_id))
        beyond = set(expired_ids(metadata, name, retention, now_ms, moved=metadata.refs))
        count = len(lineage) - len(beyond)
        needed = _needed_by_ledger(metadata, io, name, lineage, count)
        kept.update(each.snapshot_id for each in lineage[: max(count, needed)])
        for_ledger.update(each.snapshot_id for each in lineage[count:needed])
        retained[name] = max(count, needed)
    held_by_branches = {each.snapshot_id for name in retained for each in walk(metadata, refs[name].snapshot_id)}
    young = set(_young(metadata, retention, now_ms)) - held_by_branches
    expired = [each for each in _by_age(metadata) if each.snapshot_id not in kept | young]
    return Selection(
        tuple(each.snapshot_id for each in expired),
        tuple(sorted(metadata.refs.keys() - refs.keys())),
        retained,
        tuple(each.snapshot_id for each in _by_age(metadata) if each.snapshot_id in for_ledger),
    )


@dataclass(slots=True)
class _Run:
    """One expiry."""

    catalog: Catalog
    identifier: str | Identifier
    retention: RetentionPolicy
    policy: RetryPolicy
    clock: Clock
    chance: random.Random

    def run(self, dry_run: bool) -> ExpiryReport:
        table = self.catalog.load_table(self.identifier)
        begun_s, uuid = self.clock.monotonic_s(), table.metadata.table_uuid
        selection = self._select(table)
        if dry_run or selection.is_empty:
            return _report(table, selection, dry_run, attempts=0)
        for attempt in range(1, self.policy.attempts_max + 1):
            failure = self._commit(table, selection)
            if failure is None:
                return _report(table, selection, dry_run, attempt)
            table = self.catalog.load_table(self.identifier)
            if table.metadata.table_uuid != uuid:
                name, now = ".".join(table.name()), str(table.metadata.table_uuid)
                raise TableReplacedError(name, expected_uuid=str(uuid), actual_uuid=now) from failure
            if _is_done(table.metadata, selection):  # Its reply was lost, or somebody else did the same.
                return _report(table, selection, dry_run, attempt)
            selection = self._select(table)
            if selection.is_empty:
                return _report(table, selection, dry_run, attempt)
            wait_s = self.policy.wait_s(attempt, self.chance)
            is_late = self.clock.monotonic_s() + wait_s - begun_s > self.policy.total_s_max
            if is_late or attempt == self.policy.attempts_max:
                raise failure
            self.clock.wait_s(wait_s)
        raise AssertionError("the policy allows at least one attempt")

    def _select(self, table: Table) -> Selection:
        return select(table.metadata, table.io, self.retention, self.clock.now_ms())

    def _commit(self, table: Table, selection: Selection) -> Exception | None:
        """Submit once, on the refs as they were seen, and return what the catalog raised (None: it landed)."""
        metadata = table.metadata
        requirements: list[TableRequirement] = [AssertTableUUID(uuid=metadata.table_uuid)]
        requirements += [
            AssertRefSnapshotId(ref=name, snapshot_id=ref.snapshot_id) for name, ref in metadata.refs.items()
        ]
        refs: list[TableUpdate] = [RemoveSnapshotRefUpdate(ref_name=name) for name in selection.refs]
        updates = (*refs, *removals(metadata, selection.expired))
        try:
            landed = self.catalog.commit_table(table, tuple(requirements), updates)
        except Exception as err:  # noqa: BLE001  # Whatever it is, the table is asked: to expire twice does no harm.
            return err
        private.delete_old_metadata(self.catalog, table.io, metadata, landed.metadata)
        return None


def _needed_by_ledger(metadata: TableMetadata, io: FileIO, branch: str, lineage: list[Snapshot], count: int) -> int:
    """Return how many of a branch's newest snapshots the ledger needs, if no more than `count` are kept otherwise.

    It is read at the newest commit that carries it. Commits of others on top may go if what is left still proves that
    it descends from that commit, which the ledger's tag then holds (see `seriatim.commit.ledger`).
    """
    carries = [ledger_words.format_of(each) is not None for each in lineage]
    if True not in carries and is_beginning(lineage[-1]):
        return len(lineage)  # That the history is whole is all that proves what was not applied.
    if True not in carries:  # Nothing vouches for the past: the commits that name operations are all there is.
        named = [number for number, each in enumerate(lineage) if ledger_words.own_entry(each).size]
        return named[-1] + 1 if named else 0
    newest = carries.index(True)
    if newest < count:
        return 0
    tag = metadata.refs.get(tag_of(branch))
    if tag is not None and tag.snapshot_id == lineage[newest].snapshot_id:
        manifests = lineage[count - 1].manifests(io)
        if any(each.added_snapshot_id == tag.snapshot_id for each in manifests):
            return 0
    return newest + 1


def _is_too_old(metadata: TableMetadata, name: str, ref: SnapshotRef, now_ms: int) -> bool:
    if name in (MAIN_BRANCH, tag_of(MAIN_BRANCH)) or name.startswith(tag_of("")):
        return False
    age_ms = ref.max_ref_age_ms
    if age_ms is None:
        age_ms = _number(metadata, MAX_REF_AGE_MS)
    snapshot = metadata.snapshot_by_id(ref.snapshot_id)
    return age_ms is not None and snapshot is not None and now_ms - snapshot.timestamp_ms > age_ms


def _young(metadata: TableMetadata, retention: RetentionPolicy, now_ms: int) -> Iterator[int]:
    """Yield the snapshots that stay for a while though no ref holds them: rolled back, or not published yet."""
    age_ms = _number(metadata, MAX_AGE_MS)
    is_unlimited = retention.snapshots_min is None or (age_ms is None and MAX_AGE_MS in metadata.properties)
    limit_ms = age_ms if age_ms is not None else round(retention.age_s_min * 1000)
    for snapshot in metadata.snapshots:
        is_staged = snapshot.summary is not None and _STAGED in snapshot.summary.additional_properties
        least_ms = max(limit_ms, _STAGED_AGE_MS_MIN) if is_staged and age_ms is None else limit_ms
        if is_unlimited or now_ms - snapshot.timestamp_ms <= least_ms:
            yield snapshot.snapshot_id


def _number(metadata: TableMetadata, key: str) -> int | None:
    """Return what a property says; None: nothing, or no number, by which its owner wanted to keep something."""
    try:
        return int(metadata.properties[key])
    except (KeyError, ValueError):
        return None


def _is_done(metadata: TableMetadata, selection: Selection) -> bool:
    left = {snapshot.snapshot_id for snapshot in metadata.snapshots}
    return left.isdisjoint(selection.expired) and metadata.refs.keys().isdisjoint(selection.refs)


def _by_age(metadata: TableMetadata) -> list[Snapshot]:
    return sorted(metadata.snapshots, key=lambda each: (each.sequence_number or 0, each.timestamp_ms))


def _report(table: Table, selection: Selection, dry_run: bool, attempts: int) -> ExpiryReport:
    return ExpiryReport(
        table=".".join(table.name()),
        is_dry_run=dry_run,
        is_gc_disabled=is_gc_disabled(table.metadata),
        expired=selection.expired,
        refs_removed=selection.refs,
        retained=selection.retained,
        kept_for_ledger=selection.kept_for_ledger,
        attempts=attempts,
    )
