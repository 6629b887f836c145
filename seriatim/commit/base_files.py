"""The files of an attempt's base: each manifest is read once, and so is each small data file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyiceberg.expressions import BooleanExpression
from pyiceberg.manifest import ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table

from seriatim.commit import private
from seriatim.commit.live_entries import LiveEntries
from seriatim.commit.plain_files import read_plain
from seriatim.commit.pruning import Pruning, files_for

_REMEMBERED_BYTES_MAX: Final = 16 * 1024 * 1024


class BaseFiles:
    """Finds and reads the files of a table as it was loaded.

    A change that reads rows and then edits them asks for the same files twice: what was found last is remembered, and
    so are the rows of files that fit.
    """

    def __init__(self, table: Table, before: BaseFiles | None = None) -> None:
        """Nothing is read yet; what was known of manifests `before`, of the same table, is known again."""
        self._metadata, self._io = table.metadata, table.io
        self.entries: LiveEntries = LiveEntries(table.io) if before is None else before.entries.through(table.io)
        # Asked for last; None: none was yet.
        self._pruning: Pruning | None = None if before is None else before._pruning
        self._whole: dict[str, pa.Table] = {}
        self._bytes = 0
        self._asked: tuple[int | None, BooleanExpression] | None = None  # what `_held` answers; None: nothing yet
        self._held: Sequence[FileScanTask] = ()

    def manifests(self, snapshot_id: int | None) -> Sequence[ManifestFile]:
        """Return the manifests of a snapshot (None: there is none)."""
        return self.entries.manifests(None if snapshot_id is None else self._metadata.snapshot_by_id(snapshot_id))

    def holding(self, snapshot_id: int | None, condition: BooleanExpression) -> Sequence[FileScanTask]:
        """Return the files of a snapshot (None: there is none) that may hold a row for which the condition is true."""
        if self._asked != (snapshot_id, condition):
            self._held = files_for(self._metadata, self.entries, snapshot_id, condition, self.pruning)
            self._asked = (snapshot_id, condition)
        return self._held

    def pruning(self, conditions: Sequence[BooleanExpression]) -> Pruning:
        """Return what rules out files for these conditions: it takes a while to prepare, and is asked for again."""
        if self._pruning is None or not self._pruning.fits(self._metadata, conditions):
            self._pruning = Pruning(self._metadata, conditions)
        return self._pruning

    def rows(self, columns: Schema, tasks: Sequence[FileScanTask]) -> pa.Table:
        """Return these columns of all live rows of the files, in the table's current schema."""
        if len(tasks) != 1 or tasks[0].delete_files:
            return private.read_columns(self._metadata, self._io, columns, tasks)
        (task,) = tasks
        is_whole = columns == self._metadata.schema()
        if is_whole and (known := self._whole.get(task.file.file_path)) is not None:
            return known
        rows = read_plain(self._io, columns, task.file)
        if rows is None:
            rows = private.read_columns(self._metadata, self._io, columns, tasks)
        if is_whole and self._bytes + rows.nbytes <= _REMEMBERED_BYTES_MAX:
            self._bytes += rows.nbytes
            self._whole[task.file.file_path] = rows
        return rows
