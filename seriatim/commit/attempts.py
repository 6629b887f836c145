"""The attempts of one call: each submitted once, each looked up until the table tells what became of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, ValidationException
from pyiceberg.io import FileIO
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Identifier

from seriatim.commit import residue, sql_swap
from seriatim.commit.gate import Gate, GateError
from seriatim.commit.observe import Observer, OutcomeLookedUp, Silent
from seriatim.commit.outcome import Outcome, look_up
from seriatim.commit.pin import Pin
from seriatim.commit.recorder import RecordingFileIO
from seriatim.errors import (
    ConflictError,
    HistoryCutError,
    LedgerUnreadableError,
    OutcomeUnknownError,
    SeriatimError,
    UnconfirmedConflictError,
)

R = TypeVar("R")

_REPLACED: Final = "the table was dropped and created anew since"
_EXPIRED: Final = "snapshots that would tell were expired since"


@dataclass(frozen=True, slots=True)
class Attempt(Generic[R]):
    """A commit that was submitted, and the result that the caller gets if it landed."""

    pin: Pin
    staged: tuple[Snapshot, ...]
    files: tuple[str, ...]
    reported: Exception | None  # None: the catalog said yes
    result: R
    tag: str | None = None  # which it moves to its snapshot; None: it moves none
    is_named: bool = False  # whether it has operation ids, by which the ledger knows it when its snapshots are gone

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

    def __init__(
        self,
        catalog: Catalog,
        identifier: str | Identifier,
        branch: str = MAIN_BRANCH,
        observer: Observer | None = None,
    ) -> None:
        """Begin a call on a branch of a table; the `observer` is told whenever an outcome was looked up."""
        self._catalog = catalog
        self._identifier = identifier if isinstance(identifier, str) else tuple(identifier)
        self._branch = branch
        self._observer = observer or Silent()
        self._spared: frozenset[str] = frozenset()
        self.name = identifier if isinstance(identifier, str) else ".".join(identifier)
        self.count = 0
        self.landed: Attempt[R] | None = None  # None: none has landed, as far as is known
        self.pin: Pin | None = None  # of the table as last loaded; None: nothing was loaded, or a double
        self._open: list[Attempt[R]] = []
        self._passed: list[Attempt[R]] = []  # could land only if what came after their base were taken back
        self._kept: list[Attempt[R]] = []  # what may have landed where it can no longer be seen
        self._hidden: list[Attempt[R]] = []  # those of them that the ledger tells of
        self._lost: Attempt[R] | None = None  # the last one, if it was submitted and did not say yes
        self._failure: Exception | None = None  # what the last attempt failed with

    @property
    def is_open(self) -> bool:
        """Whether an attempt may land yet."""
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
            table = self.look()
        except Exception as err:
            is_dropped = isinstance(err, NoSuchTableError) and all(attempt.is_refused for attempt in self._open)
            if not self._open or is_dropped:
                raise
            raise self._unknown_after(err, "the table could not be loaded") from err
        if isinstance(table, Table):
            self._settle(table.io, table.metadata)
            self.pin = Pin.of(table, self._branch)
        return table

    def look(self) -> Table:
        """Return the table as it is by now; nothing is looked up, and what was loaded stays the base."""
        if (sql := sql_swap.swapping(self._catalog)) is not None:
            return sql_swap.load_table(sql, self._identifier)
        return self._catalog.load_table(self._identifier)

    def submit(
        self,
        table: Table,
        write: Callable[[Table], None],
        result: R,
        *,
        is_callers: bool = False,
        words: Mapping[str, str] | None = None,
        staged_files: Sequence[str] = (),
        tag: str | None = None,
        is_named: bool = False,
        refusals: tuple[type[Exception], ...] = (CommitFailedException, ValidationException),
    ) -> bool:
        """Let `write` commit to the loaded `table` once, pinned to what was loaded, and return whether it landed.

        False: it lost, or its outcome is open; the next `load` tells. What `write` raises before anything is submitted
        comes out as it is, unless it is one of `refusals`, by which PyIceberg speaks of a conflict. True with nothing
        `landed`: `write` submitted nothing. `is_callers` says that it is code of the caller's: it may write over a file
        that was there before, which is not the attempt's to remove then.

        `words` go into the summary of each snapshot. `staged_files` were written before, and may be of use to a later
        attempt: they are the caller's to `drop`. `tag` is the ledger's, which the commit moves. `is_named` says that
        the commit carries operation ids, and that the caller looks them up in the ledger before each attempt.
        """
        self.count += 1
        self._lost = self._failure = None
        if self.pin is None:
            return self._submit_ungated(table, write)
        catalog, io, recorder = table.catalog, table.io, RecordingFileIO(table.io, spares_existing=is_callers)
        gate = Gate(table, recorder, self.pin, words or {}, is_callers=is_callers)
        table.catalog, table.io = gate, recorder  # type: ignore[assignment]  # PyIceberg asks a catalog for no more
        try:
            write(table)
        except Exception as err:  # Whatever it is, the table is asked what became of the commit.
            if not gate.is_submitted:
                recorder.close()
                residue.remove(io, recorder.written)
                if not isinstance(err, (GateError, *refusals)):
                    raise
                self._failure = err
                return False
            self._failure = gate.reported or err
        finally:
            table.catalog, table.io = catalog, io
        attempt = Attempt(
            self.pin, gate.staged, (*recorder.written, *staged_files), gate.reported, result, tag, is_named
        )
        if gate.is_submitted and not gate.is_landed:
            self._lost = attempt
            if isinstance(gate.reported, sql_swap.RefusedError):
                self._bury(io, [attempt])
            else:
                self._open.append(attempt)
            return False
        if gate.is_landed:
            self.landed = attempt
            self._settle(io, table.metadata)
        return True

    @contextmanager
    def shield(self) -> Iterator[None]:
        """Raise what is true in place of an exception that comes while a commit of the call may land yet.

        Whoever hears of a full disk alone does it all again, and has it twice.

        Raises:
            OutcomeUnknownError: caused by the exception.
        """
        try:
            yield
        except (HistoryCutError, LedgerUnreadableError) as err:
            if not self._hidden:
                raise
            raise self._unknown(self._hidden, _EXPIRED) from err
        except SeriatimError:
            raise
        except Exception as err:
            if not self._open:
                raise
            raise self._unknown_after(err, "the attempt after it failed") from err

    def recorded(self, snapshot_ids: Collection[int | None]) -> Attempt[R] | None:
        """Return the attempt that made one of these snapshots, which may be gone by now; None: others made them."""
        made = {snapshot.snapshot_id: attempt for attempt in self._hidden for snapshot in attempt.staged}
        return next((made[id_] for id_ in snapshot_ids if id_ in made), None)

    def spare(self, files: Sequence[str]) -> None:
        """Keep these files, though an attempt that used them may be dead: the next one is to use them again."""
        self._spared = frozenset(files)

    def drop(self, io: FileIO, files: Sequence[str]) -> None:
        """Remove files that no further attempt will use, unless a commit that has landed, or may have, holds them."""
        self._spared = frozenset()
        held = self._held()
        residue.remove(io, [file for file in files if file not in held])

    def verdict(self) -> Exception:
        """Return the error that is true after the last attempt, which did not land.

        `ConflictError`: nothing was written. `UnconfirmedConflictError`: the catalog reported a conflict that the table
        does not show. `OutcomeUnknownError`: the commit may have landed, or may land yet. A double's own exception, if
        the table is one.
        """
        head_id = self.pin.snapshot_id if self.pin else None
        error: Exception
        if any(attempt.pin.snapshot_id == head_id for attempt in self._open):
            error = self._unknown(self._open, f"the table still is at its base, snapshot {head_id}")
        elif self._open:
            error = self._unknown(self._open, f"the table was set back, to snapshot {head_id}, and may be set forward")
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

    def _settle(self, io: FileIO, metadata: TableMetadata) -> None:
        """Look up what may land in the table as it is now; remove the files of what is dead."""
        replaced: list[Attempt[R]] = []
        found: dict[Outcome, list[Attempt[R]]] = {outcome: [] for outcome in Outcome}
        for attempt in (*self._open, *self._passed):
            if attempt.pin.table_uuid != metadata.table_uuid:
                replaced.append(attempt)
            else:
                found[look_up(metadata, attempt.pin, attempt.staged, attempt.tag)].append(attempt)
        self._open, self._passed = found[Outcome.OPEN], found[Outcome.PASSED]
        self._kept += [*replaced, *found[Outcome.ABSENT], *found[Outcome.HIDDEN]]
        self._hidden += [attempt for attempt in found[Outcome.HIDDEN] if attempt.is_named]
        if found[Outcome.LANDED]:
            self.landed = found[Outcome.LANDED][-1]
        self._bury(io, found.pop(Outcome.DEAD))
        self._tell(found)
        self._require_known([attempt for attempt in replaced if not attempt.is_refused], _REPLACED)
        self._require_known([attempt for attempt in found[Outcome.HIDDEN] if not attempt.is_named], _EXPIRED)

    def _require_known(self, unknown: Sequence[Attempt[R]], reason: str) -> None:
        if unknown and self.landed is None:
            raise self._unknown(unknown, reason)

    def _tell(self, found: Mapping[Outcome, Sequence[Attempt[R]]]) -> None:
        for outcome, attempts in found.items():
            for attempt in attempts:
                ids = tuple(snapshot.snapshot_id for snapshot in attempt.staged)
                self._observer.notify(OutcomeLookedUp(self.name, ids, outcome))

    def _bury(self, io: FileIO, dead: Sequence[Attempt[R]]) -> None:
        """Remove what dead attempts wrote, but for what another attempt of the call shares with them."""
        self._tell({Outcome.DEAD: dead})
        kept = self._spared | self._held()
        residue.remove(io, dict.fromkeys(file for attempt in dead for file in attempt.files if file not in kept))

    def _held(self) -> frozenset[str]:
        """Return the files of every attempt that has landed, or may have, or may yet."""
        attempts = [*self._open, *self._passed, *self._kept, *([self.landed] if self.landed else [])]
        return frozenset(file for attempt in attempts for file in attempt.files)

    def _unknown_after(self, err: Exception, what: str) -> OutcomeUnknownError:
        unknown = self._unknown(self._open, f"{what}: {type(err).__name__}")
        err.__cause__ = err.__cause__ or unknown.__cause__  # What the catalog said of the commit comes first.
        return unknown

    def _unknown(self, attempts: Sequence[Attempt[R]], reason: str) -> OutcomeUnknownError:
        all_refused = all(attempt.is_refused for attempt in attempts)
        error = UnconfirmedConflictError if all_refused else OutcomeUnknownError
        ids = [snapshot.snapshot_id for attempt in attempts for snapshot in attempt.staged]
        unknown = error(self.name, snapshot_ids=ids, reason=reason)
        unknown.__cause__ = attempts[-1].reported
        return unknown
