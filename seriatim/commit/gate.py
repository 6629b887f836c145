"""The gate: what PyIceberg takes for the catalog while one attempt writes.

PyIceberg 0.12 answers a conflict by rebuilding the stale snapshot on the new head, and answers `CommitFailedException`
and `ValidationException` by deleting the files it wrote, also when that commit had landed and only its reply was lost.
Both are closed here: a commit is submitted once, on the base that was read, and whatever the catalog raises reaches
PyIceberg as an exception that it neither retries nor cleans up after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

from pyiceberg.io import FileIO
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertCurrentSchemaId,
    AssertDefaultSpecId,
    AssertRefSnapshotId,
    AssertTableUUID,
    TableRequirement,
    TableUpdate,
)

from seriatim.commit import sql_swap, summary
from seriatim.commit.pin import Pin
from seriatim.commit.retention import keeping_settings

_PINNED = (AssertTableUUID, AssertRefSnapshotId, AssertCurrentSchemaId, AssertDefaultSpecId)


class GateError(Exception):
    """Private: carries a failure through PyIceberg. Must never derive from a PyIceberg exception (see above)."""


class Gate:
    """Passes one commit on to the catalog, pinned to its base, and remembers what became of it.

    Everything else goes to the catalog as it is.
    """

    def __init__(
        self, loaded: Table, io: FileIO, pin: Pin, words: Mapping[str, str], *, is_callers: bool = False
    ) -> None:
        """Stand before the catalog of the `loaded` table for one attempt, which is computed from `pin`.

        It writes through `io`. `words` go into each snapshot's summary. `is_callers`: code of the caller's has had the
        metadata in its hands.
        """
        self._catalog = loaded.catalog
        self._loaded, self._io = copy(loaded), io  # Whatever is written to the table meanwhile.
        self._sql = None if is_callers else sql_swap.swapping(loaded.catalog)
        self._pin = pin
        self._words = words
        self._framed: Callable[[Sequence[TableUpdate]], Sequence[TableUpdate]] = tuple
        self.staged: tuple[Snapshot, ...] = ()
        self.is_submitted = False
        self.is_landed = False
        self.reported: Exception | None = None  # None: nothing was raised by the catalog (so far)

    def __getattr__(self, name: str) -> Any:
        """Hand every other call to the catalog."""
        return getattr(self._catalog, name)

    def frame(self, framed: Callable[[Sequence[TableUpdate]], Sequence[TableUpdate]]) -> None:
        """Submit what `framed` makes of the commit's updates, so that more can land with them."""
        self._framed = framed

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Submit the commit once, with the pin as its requirements.

        Raises:
            GateError: it was not submitted, or the catalog raised (`reported`), so the outcome must be looked up.
        """
        if self.is_submitted:
            raise GateError("a second submit of one attempt; PyIceberg retried below the loop")
        staged = tuple(update.snapshot for update in updates if isinstance(update, AddSnapshotUpdate))
        self._check_parents(staged)
        for number, snapshot in enumerate(staged, 1):
            self._describe(snapshot, number, len(staged))
        updates = keeping_settings(table.metadata, updates)
        if staged:
            updates = tuple(self._framed(updates))
        others = tuple(requirement for requirement in requirements if not isinstance(requirement, _PINNED))
        self.staged = staged
        self.is_submitted = True
        try:
            response = self._submit(table, (*self._pin.requirements(), *others), updates)
        except Exception as err:
            self.reported = err
            raise GateError(f"the catalog raised {type(err).__name__}") from err
        self.is_landed = True
        return response

    def _submit(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        if self._sql is not None:
            return sql_swap.commit_table(self._sql, self._loaded, requirements, updates, self._io)
        return self._catalog.commit_table(table, requirements, updates)

    def _describe(self, snapshot: Snapshot, number: int, count: int) -> None:
        if snapshot.summary is None:
            raise GateError(f"snapshot {snapshot.snapshot_id} has no summary to say what it is")
        words = snapshot.summary.additional_properties
        for key in [key for key in words if key.startswith(summary.RESERVED)]:
            del words[key]  # Only this commit says what it is.
        words.update(self._words)
        if count > 1:
            words[summary.PART] = f"{number}/{count}"

    def _check_parents(self, staged: tuple[Snapshot, ...]) -> None:
        parent = self._pin.snapshot_id
        for snapshot in staged:
            if snapshot.parent_snapshot_id != parent:
                raise GateError(f"snapshot {snapshot.snapshot_id} was not computed from {parent}")
            parent = snapshot.snapshot_id
