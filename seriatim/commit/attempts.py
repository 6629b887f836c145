"""The attempts of one call: each submitted once, each looked up until the table tells what became of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, ValidationException
from pyiceberg.io import FileIO
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Identifier

from seriatim.commit import residue
from seriatim.commit.gate import Gate, GateError
from seriatim.commit.outcome import Outcome, look_up
from seriatim.commit.pin import Pin
from seriatim.commit.recorder import RecordingFileIO
from seriatim.errors import ConflictError, OutcomeUnknownError, UnconfirmedConflictError

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Attempt(Generic[R]):
    """A commit that was submitted, and the result that the caller gets if it landed."""

    pin: Pin
    staged: tuple[Snapshot, ...]
    files: tuple[str, ...]
    reported: Exception | None  # None: the catalog said yes
    result: R

    @property
    def is_refused(self) -> bool:
        """Whether the catalog called it a conflict, which is a hint and no proof."""
        return isinstance(self.reported, CommitFailedException)


class Attempts(Generic[R]):
    """What one call has tried so far.

    Use: `load`; stop if `landed`; read, compute; `submit`; stop if it returns True; and so on. `verdict` says what
    is true after the last one.

    A table that is not a PyIceberg `Table` (a double in somebody's test, with `scan` and `overwrite` alone) has no
    catalog to gate and no history to look anything up in: its word is taken.
    """

    def __init__(self, catalog: Catalog, identifier: str | Identifier) -> None:
        """Begin a call on a table."""
        self._catalog = catalog
        self._identifier = identifier
        self.name = identifier if isinstance(identifier, str) else ".".join(identifier)
        self.count = 0
        self.landed: Attempt[R] | None = None  # None: none has landed, as far as is known
        self.pin: Pin | None = None  # of the table as last loaded; None: nothing was loaded, or a double
        self._open: list[Attempt[R]] = []
        self._lost: Attempt[R] | None = None  # the last one, if it was submitted and did not say yes
        self._failure: Exception | None = None  # what the last attempt failed with

    @property
    def is_open(self) -> bool:
        """Whether the outcome of an attempt is still to be looked up."""
        return bool(self._open)

    @property
    def is_refused(self) -> bool:
        """Whether the catalog called the last attempt a conflict."""
        return self._lost is not None and self._lost.is_refused

    def load(self) -> Table:
        """Load the table anew, and look up every attempt whose outcome is open.

        Raises:
            OutcomeUnknownError: a commit was submitted, and the table cannot be loaded or cannot tell its outcome.
        """
        try:
            table = self._catalog.load_table(self._identifier)
        except Exception as err:
            is_dropped = isinstance(err, NoSuchTableError) and all(attempt.is_refused for attempt in self._open)
            if not self._open or is_dropped:
                raise
            unknown = self._unknown(self._open, f"the table could not be loaded: {type(err).__name__}")
            err.__cause__ = err.__cause__ or unknown.__cause__  # What the catalog said of the commit comes first.
            raise unknown from err
        if isinstance(table, Table):
            self._settle(table.io, table.metadata)
            self.pin = Pin.of(table)
        return table

    def submit(self, table: Table, write: Callable[[Table], None], result: R) -> bool:
        """Let `write` commit to the loaded `table` once, pinned to what was loaded, and return whether it landed.

        False: it lost, or its outcome is open; the next `load` tells. What `write` raises before anything is submitted
        comes out as it is, unless it speaks of a conflict.
        """
        self.count += 1
        self._lost = self._failure = None
        if self.pin is None:
            return self._submit_ungated(table, write)
        catalog, io = table.catalog, table.io
        gate, recorder = Gate(catalog, self.pin), RecordingFileIO(io)
        table.catalog, table.io = gate, recorder  # type: ignore[assignment]  # PyIceberg asks a catalog for no more
        try:
            write(table)
        except Exception as err:  # noqa: BLE001  # Whatever it is, the table is asked what became of the commit.
            if not gate.is_submitted:
                recorder.close()
                residue.remove(io, recorder.written)
                self._take_as_conflict(err)
                return False
            self._failure = gate.reported or err
        finally:
            table.catalog, table.io = catalog, io
        attempt = Attempt(self.pin, gate.staged, tuple(recorder.written), gate.reported, result)
        if gate.is_submitted and not gate.is_landed:
            self._lost = attempt
            self._open.append(attempt)
            return False
        self.landed = attempt
        self._settle(io, table.metadata)
        return True

    def verdict(self) -> Exception:
        """Return the error that is true after the last attempt, which did not land.

        `ConflictError`: nothing was written. `UnconfirmedConflictError`: the catalog reported a conflict that the table
        does not show. `OutcomeUnknownError`: the commit may have landed, or may land yet. A double's own exception, if
        the table is one.
        """
        head_id = self.pin.snapshot_id if self.pin else None
        waiting = [attempt for attempt in self._open if attempt.pin.snapshot_id == head_id]
        error: Exception
        if waiting:
            error = self._unknown(waiting, f"the table still is at its base, snapshot {head_id}")
        elif self._lost is None and isinstance(self._failure, CommitFailedException):
            return self._failure
        else:
            expected = self._lost.pin.snapshot_id if self._lost else head_id
            error = ConflictError(self.name, expected=expected, actual=head_id, attempts=self.count)
        error.__cause__ = self._failure
        return error

    def _submit_ungated(self, table: Table, write: Callable[[Table], None]) -> bool:
        try:
            write(table)
        except CommitFailedException as err:
            self._failure = err
            return False
        return True

    def _take_as_conflict(self, err: Exception) -> None:
        if not isinstance(err, CommitFailedException | ValidationException | GateError):
            raise err
        self._failure = err

    def _settle(self, io: FileIO, metadata: TableMetadata) -> None:
        """Look up what is open in the table as it is now; remove the files of what is dead."""
        open_, self._open = self._open, []
        hidden = []
        for attempt in open_:
            if attempt.pin.table_uuid != metadata.table_uuid:
                if not attempt.is_refused:
                    raise self._unknown([attempt], "the table was dropped and created anew since")
                continue
            match look_up(metadata, attempt.pin, attempt.staged):
                case Outcome.LANDED:
                    self.landed = attempt
                case Outcome.DEAD:
                    residue.remove(io, attempt.files)
                case Outcome.OPEN:
                    self._open.append(attempt)
                case Outcome.HIDDEN:
                    hidden.append(attempt)
        if hidden and self.landed is None:
            raise self._unknown(hidden, "snapshots that would tell were expired since")

    def _unknown(self, attempts: Sequence[Attempt[R]], reason: str) -> OutcomeUnknownError:
        all_refused = all(attempt.is_refused for attempt in attempts)
        error = UnconfirmedConflictError if all_refused else OutcomeUnknownError
        ids = [snapshot.snapshot_id for attempt in attempts for snapshot in attempt.staged]
        unknown = error(self.name, snapshot_ids=ids, reason=reason)
        unknown.__cause__ = attempts[-1].reported
        return unknown
