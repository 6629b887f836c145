"""The mirror's part of a call of the commit core: the next versions, planned anew for each base."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from seriatim.commit import Receipt, residue, summary
from seriatim.commit.attempts import Attempts
from seriatim.commit.deletes import position_delete_file
from seriatim.commit.loop import Ready, Settings
from seriatim.commit.pin import Pin
from seriatim.commit.recorder import RecordingFileIO
from seriatim.commit.submission import submit_steps
from seriatim.errors import HistoryGapError, MirrorError, SourceMismatchError
from seriatim.mirror import target
from seriatim.mirror.delta.actions import DeletionVector, Metadata, Protocol
from seriatim.mirror.delta.deletion_vectors import positions
from seriatim.mirror.delta.log import DeltaLog
from seriatim.mirror.forms.schemas import Known
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
class Batch:
    """The versions of one attempt."""

    planned: tuple[Planned, ...]
    deletes: tuple[str, ...]  # position-delete files that were written for it
    live: Live  # what is live once it has landed
    has_more: bool


@dataclass(slots=True)
class MirrorWork:
    """Plans the versions that follow the one that the base is."""

    log: DeltaLog
    settings: Settings
    goal: int
    batch: int | None
    on_gap: str
    found_version: int | None = field(default=None, init=False)  # that the base was at
    _attempts: Attempts | None = field(default=None, init=False)  # type: ignore[type-arg]  # None: no call yet
    _pin: Pin | None = field(default=None, init=False)  # that `_batch` was planned on
    _batch: Batch | None = field(default=None, init=False)
    _live: Live | None = field(default=None, init=False)  # after what landed last
    _io: FileIO | None = field(default=None, init=False)

    rebases = 0

    def begin(self, attempts: Attempts) -> None:  # type: ignore[type-arg]  # Of whatever the loop remembers.
        """Take part in another call."""
        self._attempts, self._pin, self._batch = attempts, None, None

    def ready(self, table: Table, pin: Pin, pending: tuple[str, ...], attempt: int) -> Ready | None:
        """Return the next batch; None: the mirror is at the goal, or beyond."""
        del pending, attempt
        self._io = table.io
        if self._pin != pin:
            self.drop()
            self._batch, self._pin = self._planned(table, pin), pin
        if self._batch is None:
            return None
        steps = [planned.step for planned in self._batch.planned]
        write = partial(submit_steps, steps=steps, branch=MAIN_BRANCH, now_ms=self.settings.clock.now_ms())
        return Ready(write, {summary.READS: "everything"}, self._batch.deletes, rows=None)

    def drop(self) -> None:
        """Remove the delete files of a batch that will not land."""
        if self._batch is not None and self._io is not None and self._attempts is not None:
            self._attempts.drop(self._io, self._batch.deletes)
        self._batch = self._pin = None
