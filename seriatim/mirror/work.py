"""The mirror's part of a call of the commit core: the next versions, planned anew for each base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import UUID

from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from seriatim.commit import Receipt, residue, summary
from seriatim.commit.attempts import Attempts
from seriatim.commit.live_entries import LiveEntries
from seriatim.commit.loop import Ready, Settings
from seriatim.commit.pin import Pin
from seriatim.commit.position_deletes import position_delete_file
from seriatim.commit.recorder import RecordingFileIO
from seriatim.commit.submission import submit_steps
from seriatim.errors import MirrorError, TableReplacedError
from seriatim.mirror import target
from seriatim.mirror.backlog import Backlog
from seriatim.mirror.delta.actions import DeletionVector
from seriatim.mirror.forms.known import Known
from seriatim.mirror.live import Live
from seriatim.mirror.plan import Plan, Planned
from seriatim.mirror.words import Mirrored
from seriatim.system import new_id

BATCH: Final = 100
"""Versions per catalog commit, at least; a quarter of what the mirror has, where that is more.

A commit writes the metadata of every snapshot that is kept, so that batches which grow with the history keep the cost
per version even.
"""
FILES_MAX: Final = 50_000  # files that the versions of one batch may add and remove, so that memory stays bounded


@dataclass(frozen=True, slots=True)
class _Batch:
    """The versions of one attempt."""

    planned: tuple[Planned, ...]
    plan: Plan
    deletes: tuple[str, ...]  # position-delete files that were written for it


@dataclass(slots=True)
class MirrorWork:
    """Plans the versions that follow the one that the base is."""

    backlog: Backlog
    settings: Settings
    batch: int | None  # versions per catalog commit; None: `BATCH`
    checks_files: bool
    version: int | None = field(default=None, init=False)  # that the mirror is at, as far as is known
    table_uuid: UUID | None = field(default=None, init=False)  # of the table that the run began with
    _attempts: Attempts | None = field(default=None, init=False)  # type: ignore[type-arg]  # None: no call yet
    _pin: Pin | None = field(default=None, init=False)  # that `_batch` was planned on
    _batch: _Batch | None = field(default=None, init=False)
    _live: Live | None = field(default=None, init=False)  # after what landed last
    _entries: LiveEntries | None = field(default=None, init=False)
    _io: FileIO | None = field(default=None, init=False)

    rebases = 0

    def begin(self, attempts: Attempts) -> None:  # type: ignore[type-arg]  # Of whatever the loop remembers.
        """Take part in another call."""
        self._attempts, self._pin, self._batch = attempts, None, None

    def ready(self, table: Table, pin: Pin, pending: tuple[str, ...], attempt: int) -> Ready | None:
        """Return the next batch; None: the mirror is at the goal, or beyond."""
        del pending, attempt
        self._require_same(table)
        self._io = table.io
        if self._pin != pin:
            self.drop()
            self._batch, self._pin = self._planned(table), pin
        if self._batch is None:
            return None
        if self._attempts is not None:
            self._attempts.spare(self._batch.deletes)  # The same batch may be submitted again on the same base.
        write = partial(
            submit_steps,
            steps=[planned.step for planned in self._batch.planned],
            branch=MAIN_BRANCH,
            now_ms=self.settings.clock.now_ms(),
            entries=self._entries,
        )
        return Ready(write, {summary.READS: "everything"}, self._batch.deletes, rows=None)

    def drop(self) -> None:
        """Remove the delete files of a batch that has not landed."""
        if self._batch is not None and self._io is not None and self._attempts is not None:
            self._attempts.drop(self._io, self._batch.deletes)
        self._pin = None

    def landed(self, receipt: Receipt) -> Sequence[tuple[Mirrored, int]]:
        """Return the versions of the batch that has landed, each with its snapshot; the next goes on from there.

        After several attempts the table is read anew: the one that landed may have written other delete files.
        """
        assert self._batch is not None
        self._live = Live(receipt.snapshot_ids[-1], self._batch.plan.files) if receipt.attempts == 1 else None
        said = [planned.mirrored for planned in self._batch.planned]
        self.version = said[-1].version
        return list(zip(said, receipt.snapshot_ids, strict=True))

    def _require_same(self, table: Table) -> None:
        """Refuse to go on in a new table: each call of the core sees for itself, and knows nothing of the one before.

        Raises:
            TableReplacedError: somebody has started over since the run began.
        """
        found, expected = table.metadata.table_uuid, self.table_uuid
        if found != expected:
            raise TableReplacedError(target.name_of(table), expected_uuid=str(expected), actual_uuid=str(found))

    def _planned(self, table: Table) -> _Batch | None:
        at = target.mirrored_at(table, self.backlog.source)
        self.backlog.require_source(target.name_of(table), at, table.properties)
        self.version = at.version if at else None
        if not self.backlog.has_more(self.version):
            return None
        recorder = RecordingFileIO(table.io)
        try:
            plan = Plan(
                self.backlog.source,
                table.io,
                self._live_at(table),
                self._known(table),
                self.backlog.head(self.version),
                partial(self._write_deletes, table, recorder),
                checks_files=self.checks_files,
            )
            planned = tuple(self._versions(plan, len(table.metadata.snapshots)))
        except Exception:
            recorder.close()
            residue.remove(table.io, recorder.written)
            raise
        used = {file.file_path for each in planned for file in each.step.added_deletes}
        residue.remove(table.io, [location for location in recorder.written if location not in used])
        return _Batch(planned, plan, tuple(used))

    def _versions(self, plan: Plan, snapshots: int) -> Iterator[Planned]:
        """Yield as many versions as fit, and stop before one that cannot be mirrored, which fails when it is first."""
        left, files = self.batch or max(BATCH, snapshots // 4), 0
        versions = self.backlog.plan(plan, self.version)
        is_first = True
        while left > 0 and files < FILES_MAX:
            try:
                planned = next(versions, None)
            except MirrorError:
                if is_first:
                    raise
                return
            if planned is None:
                return
            yield planned
            is_first, left, files = False, left - 1, files + planned.files

    def _live_at(self, table: Table) -> Live:
        head = table.metadata.snapshot_by_name(MAIN_BRANCH)
        if self._entries is None:
            self._entries = LiveEntries(table.io, remembered_max=None)
        if self._live is not None and head is not None and self._live.snapshot_id == head.snapshot_id:
            return self._live
        return Live.at(head, self._entries)

    def _known(self, table: Table) -> Known:
        known = Known.of(table.metadata)
        return known.preferring(self.backlog.latest_metadata())

    def _write_deletes(self, table: Table, io: FileIO, file: DataFile, vector: DeletionVector, prefix: str) -> DataFile:
        location = table.location_provider().new_data_location(f"{prefix}-{new_id()}.parquet")
        positions = self.backlog.deleted_positions(vector)
        return position_delete_file(io, location, file.spec_id, file.partition, file.file_path, positions)
