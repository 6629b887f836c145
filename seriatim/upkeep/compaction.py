"""Makes few files of many, through the commit core: the same rows, in one snapshot of operation `replace`.

One group of files is read and written at a time. When the base has moved, a group whose files all are live is kept as
it is, as long as no delete file came or went, so that a compaction does not starve beside running writers.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from pyiceberg.catalog import Catalog
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table, TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.typedef import Identifier

from seriatim.commit import (
    LedgerPolicy,
    Observer,
    Receipt,
    RetentionPolicy,
    RetryPolicy,
    Writer,
    mirrors,
    private,
    residue,
    summary,
)
from seriatim.commit.attempts import Attempts
from seriatim.commit.ledger_names import Names
from seriatim.commit.loop import ANY_BASE, Call, Ready, Settings
from seriatim.commit.observe import Rebased
from seriatim.commit.pin import Pin
from seriatim.commit.recorder import RecordingFileIO
from seriatim.commit.staging import Staged, write_rows
from seriatim.commit.submission import submit
from seriatim.errors import UpkeepRefusedError
from seriatim.system import Clock
from seriatim.upkeep.fold import KEEP, REMEMBER
from seriatim.upkeep.grouping import Group, Sizes, data_files, delete_files, find_groups
from seriatim.upkeep.reports import CompactionPlan

TARGET_BYTES: Final = 128 * 1024 * 1024
SMALL_BELOW: Final = 0.75
FILES_MIN: Final = 2
_ONE_FILE: Final = {TableProperties.WRITE_TARGET_FILE_SIZE_BYTES: str(2**40)}  # PyIceberg counts bytes in memory.


def compact(  # noqa: PLR0913  # Options, by name.
    catalog: Catalog,
    identifier: str | Identifier,
    *,
    target_bytes: int = TARGET_BYTES,
    small_below: float = SMALL_BELOW,
    files_min: int = FILES_MIN,
    branch: str = MAIN_BRANCH,
    policy: RetryPolicy | None = None,
    ledger: LedgerPolicy | None = None,
    retention: RetentionPolicy | None = None,
    writer: Writer | None = None,
    observer: Observer | None = None,
    clock: Clock | None = None,
    chance: random.Random | None = None,
) -> Receipt:
    """Rewrite small data files, and those with delete files on them, into files of about `target_bytes`.

    A file is small below the share `small_below` of the target. Those of one partition are put together, `files_min` or
    more, into one file, sorted as the table sorts. Rows, values and types stay what they are. Files of an older
    partition spec, ORC and Avro files are left. Where there is nothing to do, nothing is committed.

    No history is expired, unless a `retention` policy or the table says how much, and no operation id is forgotten,
    unless a `ledger` policy says after which time.

    Raises:
        UpkeepRefusedError: the table's format version cannot be written, a file has not the rows that it should, or the
            branch is the mirror of a Delta table.
        ConflictError, OutcomeUnknownError, TableReplacedError: as `apply`.
    """
    sizes = Sizes(target_bytes, small_below, files_min)
    kept, remembered = retention or KEEP, ledger or REMEMBER
    settings = Settings.of(Names(), branch, ANY_BASE, policy, remembered, kept, writer, observer, clock, chance)
    call = Call(catalog, identifier, settings)
    return call.run(_Compaction(call.attempts, settings, sizes))


def plan_compaction(
    catalog: Catalog,
    identifier: str | Identifier,
    *,
    target_bytes: int = TARGET_BYTES,
    small_below: float = SMALL_BELOW,
    files_min: int = FILES_MIN,
    branch: str = MAIN_BRANCH,
) -> CompactionPlan:
    """Return what `compact` would rewrite on the table as it is: of the mirror of a Delta table, nothing."""
    table = catalog.load_table(identifier)
    name, pin = ".".join(table.name()), Pin.of(table, branch)
    if pin.snapshot_id is None:
        return CompactionPlan(name, None, 0, 0, 0, 0, 0)
    found = find_groups(table, pin.snapshot_id, Sizes(target_bytes, small_below, files_min))
    if mirrors.is_mirror(table.metadata, branch):
        left = found.files_left + sum(len(group.tasks) for group in found.groups)
        return CompactionPlan(name, pin.snapshot_id, found.files_seen, 0, 0, 0, left)
    return CompactionPlan(
        table=name,
        base_snapshot_id=pin.snapshot_id,
        files_seen=found.files_seen,
        files=sum(len(group.tasks) for group in found.groups),
        files_after=len(found.groups),
        bytes=sum(group.bytes for group in found.groups),
        files_left=found.files_left,
    )


@dataclass(frozen=True, slots=True)
class _Rewritten:
    """One group, and the files that hold its rows now."""

    removed: tuple[DataFile, ...]
    added: tuple[DataFile, ...]

    @property
    def locations(self) -> tuple[str, ...]:
        return tuple(file.file_path for file in self.added)


@dataclass(slots=True)
class _Compaction:
    """The compaction of one call, written once and kept while it fits the base."""

    attempts: Attempts  # type: ignore[type-arg]  # Of whatever the loop wants to remember.
    settings: Settings
    sizes: Sizes
    rebases: int = field(default=0, init=False)
    _pin: Pin | None = field(default=None, init=False)  # what `_done` was written for; None: nothing was yet
    _done: tuple[_Rewritten, ...] = field(default=(), init=False)
    _deletes: frozenset[str] = field(default=frozenset(), init=False)
    _io: FileIO | None = field(default=None, init=False)  # None: not seen yet

    def ready(self, table: Table, pin: Pin, pending: tuple[str, ...], attempt: int) -> Ready | None:
        del pending
        self._io = table.io
        if pin.snapshot_id is None:
            return None
        if mirrors.is_mirror(table.metadata, self.settings.branch):
            raise UpkeepRefusedError(
                self.attempts.name,
                reason="it is the mirror of a Delta table: a compaction would rewrite its rows into files of its own",
                remedy="Compact the Delta table (OPTIMIZE), and mirror that",
            )
        if table.metadata.format_version not in (1, 2):
            raise UpkeepRefusedError(
                self.attempts.name,
                reason=f"format version {table.metadata.format_version} cannot be written",
                remedy="Compact it with the engine that writes it",
            )
        if self._pin != pin:
            self._fit(table, pin, pin.snapshot_id, attempt)
        return self._ready() if self._done else None

    def drop(self) -> None:
        self._keep(())

    def _fit(self, table: Table, pin: Pin, snapshot_id: int, attempt: int) -> None:
        """Keep what still fits the base; if that is nothing, plan and write anew."""
        before = self._pin
        deletes = delete_files(table, snapshot_id)
        is_same_form = before is not None and _form(before) == _form(pin)
        if self._done and is_same_form and deletes == self._deletes:
            self._keep(_still_live(self._done, data_files(table, snapshot_id)))
        else:
            self._keep(())
        is_replanned = not self._done
        if is_replanned:
            self._deletes = deletes
            self._write(table, snapshot_id)
        if before is not None:
            self.rebases += 1
            moved = (before.snapshot_id, pin.snapshot_id)
            self.settings.observer.notify(Rebased(self.attempts.name, attempt, *moved, is_replanned=is_replanned))
        self._pin = pin

    def _keep(self, done: Sequence[_Rewritten]) -> None:
        """Go on with these groups, and remove the files of the others unless a commit may hold them."""
        kept = [location for each in done for location in each.locations]
        if self._io is not None:
            lost = [location for each in self._done for location in each.locations if location not in set(kept)]
            self.attempts.drop(self._io, lost)
        self.attempts.spare(kept)
        self._done = tuple(done)

    def _write(self, table: Table, snapshot_id: int) -> None:
        recorder = RecordingFileIO(table.io)
        try:
            groups = find_groups(table, snapshot_id, self.sizes).groups
            self._done = tuple(self._rewritten(table, recorder, group) for group in groups)
        except Exception:
            recorder.close()
            residue.remove(table.io, recorder.written)
            raise
        self.attempts.spare([location for each in self._done for location in each.locations])

    def _rewritten(self, table: Table, io: FileIO, group: Group) -> _Rewritten:
        tables = []
        for task in group.tasks:
            rows = private.read_file(table.metadata, io, task)
            if not task.delete_files and rows.num_rows != task.file.record_count:
                counts = f"{rows.num_rows} rows, and {task.file.record_count} by its manifest"
                raise UpkeepRefusedError(
                    self.attempts.name,
                    reason=f"{task.file.file_path} has {counts}",
                    remedy="The file is damaged, or not read as it was written: look at it",
                )
            tables.append(rows)
        if not any(rows.num_rows for rows in tables):
            return _Rewritten(group.files, ())
        return _Rewritten(group.files, write_rows(self.attempts.name, _writing_one_file(table.metadata), io, tables))

    def _ready(self) -> Ready:
        staged = Staged(
            added=tuple(file for each in self._done for file in each.added),
            removed=tuple(file for each in self._done for file in each.removed),
            is_rewritten=True,
        )
        words = {summary.READS: summary.described(()), summary.ROWS_ADDED: "0", summary.ROWS_REMOVED: "0"}
        now_ms = self.settings.clock.now_ms()
        write = partial(submit, staged=staged, branch=self.settings.branch, now_ms=now_ms)
        return Ready(write, words, staged.locations, rows=(0, 0))


def _still_live(done: Sequence[_Rewritten], live: Collection[str]) -> list[_Rewritten]:
    return [each for each in done if all(file.file_path in live for file in each.removed)]


def _form(pin: Pin) -> tuple[object, int, int]:
    return pin.table_uuid, pin.schema_id, pin.spec_id


def _writing_one_file(metadata: TableMetadata) -> TableMetadata:
    return metadata.model_copy(update={"properties": {**metadata.properties, **_ONE_FILE}})
