"""Which snapshot is which Delta version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot

from seriatim.commit.lineage import walk
from seriatim.mirror.words import Mirrored


@dataclass(frozen=True, slots=True)
class VersionFound:
    """The version is a snapshot of the branch."""

    said: Mirrored
    snapshot_id: int
    committed_at_ms: int  # when it landed in Iceberg


@dataclass(frozen=True, slots=True)
class VersionGone:
    """The version has been mirrored, and no snapshot is it: it was expired, or never had one of its own."""

    delta_version: int
    head_version: int
    gap: VersionFound | None  # the snapshot that stands for it and others, which were gone from Delta's log; None: none


@dataclass(frozen=True, slots=True)
class VersionNotMirrored:
    """The version has not landed on the branch."""

    delta_version: int
    head_version: int | None  # None: the branch is the mirror of nothing


VersionLookup = VersionFound | VersionGone | VersionNotMirrored


def look_up_version(table: Table, delta_version: int, branch: str = MAIN_BRANCH) -> VersionLookup:
    """Tell which snapshot of the branch a Delta version is, or why none is it."""
    head_version: int | None = None
    for found in _versions(table, branch):
        said = found.said
        head_version = said.version if head_version is None else head_version
        if said.version == delta_version:
            return found
        if said.gap_from is not None and said.gap_from <= delta_version < said.version:
            return VersionGone(delta_version, head_version, found)
        if said.version < delta_version:
            break
    if head_version is None or head_version < delta_version:
        return VersionNotMirrored(delta_version, head_version)
    return VersionGone(delta_version, head_version, None)


def snapshot_of(table: Table, delta_version: int, branch: str = MAIN_BRANCH) -> Snapshot | None:
    """Return the snapshot of the branch that is a Delta version; None: it is not mirrored, or has been expired.

    A version that was gone from Delta's log when it was to be mirrored has no snapshot of its own.
    """
    found = look_up_version(table, delta_version, branch)
    return table.snapshot_by_id(found.snapshot_id) if isinstance(found, VersionFound) else None


def delta_version_of(table: Table, snapshot: Snapshot | int | None = None) -> int | None:
    """Return the Delta version that a snapshot is, by default the table's current one; None: it is of no mirror."""
    if snapshot is None:
        found = table.current_snapshot()
    else:
        found = table.snapshot_by_id(snapshot) if isinstance(snapshot, int) else snapshot
    said = Mirrored.of(found) if found is not None else None
    return said.version if said else None


def _versions(table: Table, branch: str) -> Iterator[VersionFound]:
    """Yield the versions that the branch has, newest first."""
    head = table.metadata.snapshot_by_name(branch)
    for snapshot in walk(table.metadata, head.snapshot_id if head else None):
        said = Mirrored.of(snapshot)
        if said is not None:
            yield VersionFound(said, snapshot.snapshot_id, snapshot.timestamp_ms)
