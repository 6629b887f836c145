"""A change, ready to be committed: computed and written once, and used again while nothing that it read has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Generic, TypeVar

from pyiceberg.expressions import AlwaysFalse, BooleanExpression
from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table

from seriatim.commit import mirrors, residue, summary
from seriatim.commit.attempts import Attempts
from seriatim.commit.base import Base
from seriatim.commit.base_files import BaseFiles
from seriatim.commit.change import Change
from seriatim.commit.edits import Step, steps_of, sums_of
from seriatim.commit.loop import Ready, Settings
from seriatim.commit.observe import Reapplied, Rebased
from seriatim.commit.pin import Pin
from seriatim.commit.rebase import Effect, effect
from seriatim.commit.recorder import RecordingFileIO
from seriatim.commit.staging import Stage, Staged, covering
from seriatim.commit.submission import submit
from seriatim.errors import ConflictError

R = TypeVar("R")
Compute = Callable[[Base], Change]

_LONG_S: Final = 1.0  # What takes that long to compute may be much to write, and one more look at the table is little.


@dataclass(frozen=True, slots=True)
class Prepared:
    """A change computed from `computed_on`, and its files as they fit the base `pin`."""

    computed_on: Pin
    pin: Pin
    pending: tuple[str, ...]
    steps: tuple[Step, ...]
    reads: tuple[BooleanExpression, ...]  # what the computation read, and what its edits depend on
    sums: Mapping[str, int]  # what it says of the totals of columns
    manifests: Sequence[ManifestFile]  # of the base `pin`
    staged: Staged = field(default_factory=Staged)

    @property
    def is_empty(self) -> bool:
        """Whether every row stays as it is."""
        return not (self.staged.added or self.staged.removed)


class Preparation(Generic[R]):
    """The change of one call, made anew only when it must be."""

    def __init__(self, compute: Compute, attempts: Attempts[R], settings: Settings) -> None:
        """Nothing is computed before `ready`."""
        self._compute, self._attempts, self._settings = compute, attempts, settings
        self._prepared: Prepared | None = None  # None: nothing was computed yet, or it was dropped
        self._files: BaseFiles | None = None  # of the base of the last attempt; None: there was none
        self._base: Pin | None = None  # of the last attempt; None: there was none
        self._manifests: Sequence[ManifestFile] = ()  # of that base
        self._io: FileIO | None = None  # of the table as last seen; None: not seen yet
        self.rebases = 0

    def ready(self, table: Table, pin: Pin, pending: tuple[str, ...], attempt: int) -> Ready | None:
        """Return the change for this base: the one at hand if it still is what would be computed, else a new one.

        Raises:
            InvalidChangeError: the change does not fit the table; nothing is left of it.
        """
        self._io = table.io
        files = self._files = BaseFiles(table, self._files)
        manifests = self._manifests = files.manifests(pin.snapshot_id)
        mirrors.require_none(self._attempts.name, table.metadata, self._settings.branch)
        before = self._prepared
        found = Effect.STALE if before is None else self._effect(before, table, files, pin, pending)
        if before is not None and found is Effect.NONE:
            prepared = replace(before, pin=pin, manifests=manifests)
        elif before is not None and found is Effect.REWRITTEN:
            self.drop()
            prepared = self._staged(replace(before, pin=pin, manifests=manifests), table, files)
        else:
            self.drop()
            begun_s = self._settings.clock.monotonic_s()
            computed = self._computed(table, files, manifests, pin, pending)
            is_long = self._settings.clock.monotonic_s() - begun_s >= _LONG_S
            look = partial(self._require_useful, computed, files, attempt) if is_long else None
            try:
                prepared = self._staged(computed, table, files, look)
            except ConflictError as lost:
                self._tell(pin, found, attempt)
                return Ready(partial(_lose, lost), {}, (), None, refusals=(ConflictError,))
        self._prepared = prepared
        self._attempts.spare(prepared.staged.locations)
        self._tell(pin, found, attempt)
        return None if prepared.is_empty and not pending else self._ready(prepared, files)

    def lists(self, snapshot_id: int) -> bool:
        """Tell whether the base of the last attempt has a manifest that this snapshot wrote."""
        return any(manifest.added_snapshot_id == snapshot_id for manifest in self._manifests)

    def drop(self) -> None:
        """Forget the change, and remove its files unless a commit that has landed, or may have, holds them."""
        if self._prepared is not None and self._io is not None:
            self._attempts.drop(self._io, self._prepared.staged.locations)
        self._prepared = None

    def _ready(self, prepared: Prepared, files: BaseFiles) -> Ready:
        staged = prepared.staged
        words = summary.words_of_change(
            prepared.reads, rows_added=staged.rows_added, rows_removed=staged.rows_removed, sums=prepared.sums
        )
        if prepared.computed_on.snapshot_id not in (None, prepared.pin.snapshot_id):
            words[summary.COMPUTED_ON] = str(prepared.computed_on.snapshot_id)
        now_ms = self._settings.clock.now_ms()
        write = partial(submit, staged=staged, branch=self._settings.branch, now_ms=now_ms, entries=files.entries)
        return Ready(write, words, staged.locations, (staged.rows_added, staged.rows_removed))

    def _tell(self, now: Pin, found: Effect, attempt: int) -> None:
        before, self._base = self._base, now
        if before is None or before == now:
            return
        name, moved = self._attempts.name, (before.snapshot_id, now.snapshot_id)
        if found is Effect.STALE:
            self._settings.observer.notify(Reapplied(name, attempt, *moved))
            return
        self.rebases += 1
        self._settings.observer.notify(Rebased(name, attempt, *moved, is_replanned=found is Effect.REWRITTEN))

    def _effect(self, before: Prepared, table: Table, files: BaseFiles, pin: Pin, pending: tuple[str, ...]) -> Effect:
        if pin == before.pin and pending == before.pending:
            return Effect.NONE
        same_form = (pin.table_uuid, pin.schema_id, pin.spec_id) == (
            before.pin.table_uuid,
            before.pin.schema_id,
            before.pin.spec_id,
        )
        if not same_form or pending != before.pending:
            return Effect.STALE
        return effect(
            table.metadata,
            files,
            base_snapshot_id=before.pin.snapshot_id,
            head_snapshot_id=pin.snapshot_id,
            base_manifests=before.manifests,
            reads=before.reads,
            replaced={file.file_path for file in before.staged.removed},
        )

    def _computed(
        self, table: Table, files: BaseFiles, manifests: Sequence[ManifestFile], pin: Pin, pending: tuple[str, ...]
    ) -> Prepared:
        base = Base(self._attempts.name, pin.snapshot_id, pending, table, files)
        change = self._compute(base)
        steps = steps_of(self._attempts.name, table.metadata, change)
        sums = sums_of(self._attempts.name, table.metadata, change)
        dependence = covering(steps)
        reads = base.reads if dependence in (AlwaysFalse(), *base.reads) else (*base.reads, dependence)
        return Prepared(pin, pin, pending, steps, reads, sums, manifests)

    def _require_useful(self, computed: Prepared, files: BaseFiles, attempt: int) -> None:
        """Look at the table once more.

        Raises:
            ConflictError: something that the change had read may have changed.
        """
        try:
            table = self._attempts.look()
            now = Pin.of(table, self._settings.branch)
            self._files = BaseFiles(table, files)  # The next attempt is to know what is read for this.
            found = self._effect(computed, table, self._files, now, computed.pending)
        except Exception:  # noqa: BLE001  # The look saves files; whether the table can be written, the commit finds out.
            return
        if found is Effect.STALE:
            base = computed.pin.snapshot_id
            raise ConflictError(self._attempts.name, expected=base, actual=now.snapshot_id, attempts=attempt)

    def _staged(
        self, prepared: Prepared, table: Table, files: BaseFiles, before_writing: Callable[[], None] | None = None
    ) -> Prepared:
        """Return the change with its files written for the base that it is prepared for."""
        name, base, recorder = self._attempts.name, prepared.pin.snapshot_id, RecordingFileIO(table.io)
        try:
            staged = Stage(name, table, recorder, base, prepared.steps, files, before_writing).run()
        except Exception:
            recorder.close()
            residue.remove(table.io, recorder.written)
            raise
        return replace(prepared, staged=staged)


def _lose(lost: ConflictError, table: Table) -> None:
    """Submit nothing: what the change had read has changed, so that no files were written for it."""
    del table
    raise lost
