"""How much history a branch keeps: the commit that makes it longer expires what is beyond that, in the same commit.

Otherwise every commit reads, copies and writes a longer history than the one before it. Only metadata goes: the files
of an expired snapshot stay, for whoever is reading them, until upkeep removes them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import SnapshotRef, SnapshotRefType
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    RemovePartitionStatisticsUpdate,
    RemoveSnapshotsUpdate,
    RemoveStatisticsUpdate,
    SetPartitionStatisticsUpdate,
    SetSnapshotRefUpdate,
    SetStatisticsUpdate,
    TableUpdate,
)

from seriatim.commit.lineage import walk

MIN_SNAPSHOTS: Final = "history.expire.min-snapshots-to-keep"
MAX_AGE_MS: Final = "history.expire.max-snapshot-age-ms"
GC_ENABLED: Final = "gc.enabled"


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """What a branch keeps where the table does not say it.

    A snapshot is expired when at least `snapshots_min` newer ones are kept and it is older than `age_s_min`. What the
    branch says itself comes first, then the table's `history.expire.min-snapshots-to-keep` and
    `history.expire.max-snapshot-age-ms`; `gc.enabled=false` keeps everything. So does `snapshots_min=None`. Snapshots
    that a tag or another branch holds are kept in any case.
    """

    snapshots_min: int | None = 20  # None: everything is kept
    age_s_min: float = 0.0

    def __post_init__(self) -> None:
        """Refuse to keep less than the newest snapshot."""
        if self.snapshots_min is not None and self.snapshots_min < 1:
            raise ValueError(f"snapshots_min must be at least 1, or None, not {self.snapshots_min}")
        if self.age_s_min < 0:
            raise ValueError(f"age_s_min must not be negative, not {self.age_s_min}")


@dataclass(frozen=True, slots=True)
class _Bounds:
    snapshots_min: int
    age_ms_min: int


def expiry(
    metadata: TableMetadata, branch: str, policy: RetentionPolicy, updates: Sequence[TableUpdate], now_ms: int
) -> tuple[TableUpdate, ...]:
    """Return what expires the snapshots of the branch that `updates`, about to be committed, put beyond its bounds.

    Where `updates` expire snapshots themselves, nothing is added to that.
    """
    added = sum(isinstance(update, AddSnapshotUpdate) for update in updates)
    if any(isinstance(update, RemoveSnapshotsUpdate) for update in updates):
        return ()
    moved = [update for update in updates if isinstance(update, SetSnapshotRefUpdate)]
    beyond = expired_ids(metadata, branch, policy, now_ms, added=added, moved=[update.ref_name for update in moved])
    held = {update.snapshot_id for update in moved}
    expired = tuple(id_ for id_ in beyond if id_ not in held)
    return removals(metadata, expired, updates)


def removals(
    metadata: TableMetadata, expired: Collection[int], updates: Sequence[TableUpdate] = ()
) -> tuple[TableUpdate, ...]:
    """Return what removes these snapshots, and what is registered for them once `updates` are done."""
    if not expired:
        return ()
    # PyIceberg 0.10 cannot expire a snapshot that has statistics, and no version removes those of partitions with it.
    of_columns, of_partitions = _with_statistics(metadata, updates)
    return (
        *(RemoveStatisticsUpdate(snapshot_id=id_) for id_ in expired if id_ in of_columns),
        *(RemovePartitionStatisticsUpdate(snapshot_id=id_) for id_ in expired if id_ in of_partitions),
        RemoveSnapshotsUpdate(snapshot_ids=list(expired)),
    )


def keeping_settings(metadata: TableMetadata, updates: Sequence[TableUpdate]) -> tuple[TableUpdate, ...]:
    """Return the updates, none of which moves a branch without what its owner has set on it, as PyIceberg's do."""
    return tuple(
        _keeping(metadata.refs.get(update.ref_name), update) if isinstance(update, SetSnapshotRefUpdate) else update
        for update in updates
    )


def expired_ids(
    metadata: TableMetadata,
    branch: str,
    policy: RetentionPolicy,
    now_ms: int,
    *,
    added: int = 0,
    moved: Collection[str] = (),
) -> tuple[int, ...]:
    """Return the snapshots of the branch that are beyond its bounds once `added` more are on it, newest first.

    The refs `moved` hold nothing any more where they have been so far.
    """
    bounds = _bounds(metadata, branch, policy)
    head = metadata.snapshot_by_name(branch)
    if bounds is None or head is None:
        return ()
    lineage = list(walk(metadata, head.snapshot_id))
    kept = max(0, bounds.snapshots_min - added)
    for number, snapshot in enumerate(lineage):  # The history stays without a hole, whatever the clocks said.
        if max(0, now_ms - snapshot.timestamp_ms) < bounds.age_ms_min:
            kept = max(kept, number + 1)
    beyond = [snapshot.snapshot_id for snapshot in lineage[kept:]]
    held = set(_held(metadata, {branch, *moved})) if beyond else set()
    return tuple(id_ for id_ in beyond if id_ not in held)


def is_gc_disabled(metadata: TableMetadata) -> bool:
    """Tell whether the table says `gc.enabled=false`: nothing of it may be expired or removed."""
    return metadata.properties.get(GC_ENABLED, "true").lower() == "false"


def _bounds(metadata: TableMetadata, branch: str, policy: RetentionPolicy) -> _Bounds | None:
    """Return what the branch, the table or the policy says; None: everything is kept."""
    properties, ref = metadata.properties, metadata.refs.get(branch)
    if is_gc_disabled(metadata):
        return None
    minimum = ref.min_snapshots_to_keep if ref else None
    age_ms = ref.max_snapshot_age_ms if ref else None
    try:
        if minimum is None:
            minimum = int(properties[MIN_SNAPSHOTS]) if MIN_SNAPSHOTS in properties else policy.snapshots_min
        if age_ms is None:
            age_ms = int(properties[MAX_AGE_MS]) if MAX_AGE_MS in properties else round(policy.age_s_min * 1000)
    except ValueError:
        return None  # Whoever set it wanted to keep something.
    return _Bounds(max(minimum, 1), age_ms) if minimum is not None else None


def _held(metadata: TableMetadata, but: Collection[str]) -> Iterator[int]:
    """Yield what refs hold, but for some: a tag its snapshot, a branch its whole lineage."""
    for name, ref in metadata.refs.items():
        if name in but:
            continue
        if ref.snapshot_ref_type == SnapshotRefType.TAG:
            yield ref.snapshot_id
        else:
            yield from (snapshot.snapshot_id for snapshot in walk(metadata, ref.snapshot_id))


def _with_statistics(metadata: TableMetadata, updates: Sequence[TableUpdate]) -> tuple[set[int], set[int]]:
    """Return which snapshots have statistics, of columns and of partitions, once the updates are made."""
    of_columns = {file.snapshot_id for file in metadata.statistics}
    of_partitions = {file.snapshot_id for file in metadata.partition_statistics}
    for update in updates:
        match update:
            case RemoveStatisticsUpdate():
                of_columns.discard(update.snapshot_id)
            case SetStatisticsUpdate():
                of_columns.add(update.statistics.snapshot_id)
            case RemovePartitionStatisticsUpdate():
                of_partitions.discard(update.snapshot_id)
            case SetPartitionStatisticsUpdate():
                of_partitions.add(update.partition_statistics.snapshot_id)
            case _:
                pass
    return of_columns, of_partitions


def _keeping(ref: SnapshotRef | None, update: SetSnapshotRefUpdate) -> SetSnapshotRefUpdate:
    says = (update.max_ref_age_ms, update.max_snapshot_age_ms, update.min_snapshots_to_keep)
    if ref is None or ref.snapshot_ref_type != SnapshotRefType.BRANCH or says != (None, None, None):
        return update
    return SetSnapshotRefUpdate(
        ref_name=update.ref_name,
        type=update.type,
        snapshot_id=update.snapshot_id,
        max_ref_age_ms=ref.max_ref_age_ms,
        max_snapshot_age_ms=ref.max_snapshot_age_ms,
        min_snapshots_to_keep=ref.min_snapshots_to_keep,
    )
