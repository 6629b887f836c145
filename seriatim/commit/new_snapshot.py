"""Writes the snapshots of a commit: their manifests, their manifest lists, and what the catalog is told of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot, Summary
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import AddSnapshotUpdate, AddSortOrderUpdate, SetSnapshotRefUpdate, TableUpdate

from seriatim.commit import manifests
from seriatim.commit.chain import Step
from seriatim.commit.forms import take_on
from seriatim.commit.live_entries import REMEMBERED_MAX, LiveEntries
from seriatim.commit.manifest_files import ManifestFiles
from seriatim.commit.manifests import Plan
from seriatim.commit.snapshot_totals import summarized
from seriatim.errors import InvalidChangeError


def write_snapshots(
    table: Table, branch: str, steps: Sequence[Step], now_ms: int, entries: LiveEntries | None = None
) -> tuple[TableUpdate, ...]:
    """Write one snapshot for each step, each on the one before it and the first on the branch as it was loaded.

    Returns the updates that put them on the branch, all in one commit. A step may remove what an earlier one added.
    `entries` is what an earlier call came to know of the table's manifests, and takes in what this one does.

    Raises:
        InvalidChangeError: the table cannot be written, or has no delete files, or there is no step.
        MissingFileError: a removed file is not there when its step comes.
    """
    _require_writable(table, steps)
    chain = _Chain(table, branch, now_ms, steps, entries)
    updates = [update for step in steps for update in chain.write(step)]
    return *_missing_order(table.metadata), *updates, chain.set_branch()


class _Chain:
    """Snapshots being written, and the table as it is once the last of them is there."""

    def __init__(
        self, table: Table, branch: str, now_ms: int, steps: Sequence[Step], entries: LiveEntries | None
    ) -> None:
        self._metadata: TableMetadata = table.metadata
        self._branch, self._now_ms = branch, now_ms
        self._head = self._metadata.snapshot_by_name(branch)
        self._entries = entries or LiveEntries(table.io, remembered_max=None if len(steps) > 1 else REMEMBERED_MAX)
        self._manifests: Sequence[ManifestFile] = self._entries.manifests(self._head)
        self._splits = len(steps) == 1  # A chain knows what it will remove later.
        self._later = Counter(file.file_path for step in steps for file in step.all_removed)
        self._files = ManifestFiles(table)
        self._number = self._metadata.next_sequence_number()
        self._last_ms = self._metadata.last_updated_ms

    def write(self, step: Step) -> Iterator[TableUpdate]:
        """Write the snapshot of a step, and yield what makes the catalog have it."""
        if step.form is not None:
            self._metadata, updates = take_on(self._metadata, step.form)
            yield from updates
        self._later -= Counter(file.file_path for file in step.all_removed)
        data = self._plan(ManifestContent.DATA, step.added, step.removed)
        deletes = self._plan(ManifestContent.DELETES, step.added_deletes, step.removed_deletes)
        summary = summarized(
            self._metadata,
            self._head,
            step.operation,
            [*data.written.items(), *deletes.written.items()],
            words=step.words,
            entries=self._all_entries,
        )
        self._head = self._written(step, summary, data, deletes)
        if self._metadata.format_version > 1:
            self._number += 1
        yield AddSnapshotUpdate(snapshot=self._head)

    def set_branch(self) -> SetSnapshotRefUpdate:
        """Move the branch; the gate sees to it that it keeps what its owner has set on it."""
        assert self._head is not None  # There is a step.
        return SetSnapshotRefUpdate(
            ref_name=self._branch,
            type="branch",
            snapshot_id=self._head.snapshot_id,
            max_ref_age_ms=None,
            max_snapshot_age_ms=None,
            min_snapshots_to_keep=None,
        )

    def _plan(self, content: ManifestContent, added: Sequence[DataFile], removed: Sequence[DataFile]) -> Plan:
        merges, target_bytes = manifests.merging(self._metadata.properties)
        return manifests.plan(
            self._manifests,
            self._entries,
            content=content,
            added=added,
            removed=removed,
            later=self._later,
            spec_id=self._metadata.default_spec_id,
            merges=merges,
            splits=self._splits,
            target_bytes=target_bytes,
        )

    def _all_entries(self) -> Iterator[ManifestEntry]:
        for manifest in self._manifests:
            yield from self._entries.of(manifest).entries

    def _written(self, step: Step, summary: Summary, data: Plan, deletes: Plan) -> Snapshot:
        """Write the files of a snapshot, and remember what later ones build on."""
        id_, parent_id = self._metadata.new_snapshot_id(), self._head.snapshot_id if self._head is not None else None
        # Data comes first, as readers of a list expect it.
        self._manifests = [
            *self._write_manifests(id_, ManifestContent.DATA, data),
            *data.kept,
            *self._write_manifests(id_, ManifestContent.DELETES, deletes),
            *deletes.kept,
        ]
        self._entries.keep_only(self._manifests)
        # An engine that finds a snapshot by time wants the times in order, whatever the clocks say.
        self._last_ms = max(self._last_ms, self._now_ms if step.at_ms is None else step.at_ms)
        return Snapshot(
            snapshot_id=id_,
            parent_snapshot_id=parent_id,
            sequence_number=self._number,
            timestamp_ms=self._last_ms,
            manifest_list=self._files.write_list(
                self._metadata,
                self._manifests,
                snapshot_id=id_,
                parent_id=parent_id,
                sequence_number=self._number,
            ),
            summary=summary,
            schema_id=self._metadata.current_schema_id,
        )

    def _write_manifests(self, snapshot_id: int, content: ManifestContent, plan: Plan) -> Iterator[ManifestFile]:
        for spec_id, contents in plan.written.items():
            for piece in contents.in_bounds():
                manifest, listed = self._files.write(
                    self._metadata,
                    self._metadata.specs()[spec_id],
                    content,
                    piece,
                    snapshot_id=snapshot_id,
                    sequence_number=self._number,
                )
                self._entries.remember(manifest, listed)
                yield manifest


def _require_writable(table: Table, steps: Sequence[Step]) -> None:
    name, version = ".".join(table.name()), table.metadata.format_version
    if version not in (1, 2):
        raise InvalidChangeError(
            f"{name}: format version {version} cannot be written; nothing was written. Tables of format versions 1 "
            f"and 2 can."
        )
    if version == 1 and any(step.has_deletes for step in steps):
        raise InvalidChangeError(
            f"{name}: a table of format version 1 has no delete files; nothing was written. Upgrade it to format "
            f"version 2, or write the rows that are left to new files."
        )
    if not steps:
        raise InvalidChangeError(f"{name}: there is no step to commit; nothing was written. Give at least one.")


def _missing_order(metadata: TableMetadata) -> Iterator[TableUpdate]:
    """Yield what adds the order without fields where it is missing; DuckDB makes such tables.

    PyIceberg takes no snapshot for a table without any sort order.
    """
    if not metadata.sort_orders:
        yield AddSortOrderUpdate(sort_order=UNSORTED_SORT_ORDER)
