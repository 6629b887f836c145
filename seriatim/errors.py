"""Every error Seriatim raises, in one tree, grouped by what a caller would do about it.

    SeriatimError
      ConflictError               the table moved under every attempt: nothing was written, run again
      OutcomeUnknownError         it may have landed: look it up, resubmit nothing, delete nothing
        UnconfirmedConflictError  the catalog said "conflict", the table does not show one
      TableReplacedError          dropped and created anew meanwhile: nothing was written to the new table
      HistoryCutError             the history no longer reaches back far enough to tell
      LedgerUnreadableError       the ledger cannot be read, so that it cannot be told
      OperationTooOldError        issued before what the ledger remembers: it cannot be told
      StreamGapError              not the next step of its stream
      ConflictTableError          the table keeps no conflicts: name another
      AuditRefusedError           the invariants do not fit the table: nothing was judged
      UpkeepRefusedError          upkeep cannot be done safely: nothing was deleted from then on
      MirrorError                 the Delta table cannot be mirrored to this table as it is
        HistoryGapError           the Delta log no longer reaches back to what was mirrored last
        SourceMismatchError       the target is not this Delta table's mirror, or somebody else wrote it
        UnsupportedFeatureError   something in the Delta table has no equal in Iceberg: nothing was written
        DeltaLogError             the Delta log cannot be read, or contradicts itself
        NotAppendedError          a version took rows away: it cannot be consumed as new rows
        ChangesUnknownError       what a range of versions added cannot be told from the mirror
      InvalidChangeError          the change cannot be applied to this table: mend the change
        RowNotFoundError
        DuplicateKeyError
        BalanceError

Some are PyIceberg's exceptions too, so that a caller who knows only PyIceberg catches what it expects.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException


class SeriatimError(Exception):
    """Anything that Seriatim raises on purpose."""


class ConflictError(SeriatimError, CommitFailedException):
    """The table moved under every allowed attempt; nothing was written, so run the change again."""

    def __init__(self, table: str, *, expected: int | None, actual: int | None, attempts: int) -> None:
        """Build the message from the snapshot the last attempt read and the one it met (None: an empty table)."""
        super().__init__(
            f"{table}: the last of {attempts} attempt(s) was computed from snapshot {expected}, but the table is at "
            f"{actual}; nothing was written. Run it again, or allow more attempts."
        )
        self.table, self.expected, self.actual, self.attempts = table, expected, actual, attempts


class OutcomeUnknownError(SeriatimError, CommitStateUnknownException):
    """The commit may have landed, or may land yet; nothing was deleted and nothing is resubmitted.

    Look one of `snapshot_ids` or `operation_ids` up in the table's history before doing anything else.
    """

    def __init__(
        self, table: str, *, snapshot_ids: Sequence[int], operation_ids: Sequence[str] = (), reason: str
    ) -> None:
        """Build the message from what the staged commit would be known by."""
        known_by = f"snapshot(s) {', '.join(map(str, snapshot_ids))}"
        if operation_ids:
            known_by += f" or operation(s) {', '.join(operation_ids)}"
        super().__init__(
            f"{table}: it is not known whether the commit landed ({reason}). Look for {known_by} in the table's "
            f"history; if they are there it landed, if the table has moved on without them it did not."
        )
        self.table, self.snapshot_ids, self.operation_ids = table, tuple(snapshot_ids), tuple(operation_ids)


class UnconfirmedConflictError(OutcomeUnknownError, CommitFailedException):
    """The catalog reported a conflict on the last attempt, yet the table still is at the base of that attempt.

    Most likely nothing was written. A catalog can also report a conflict for a commit that is still on its way (a
    request that was sent twice), so the attempt's files are kept.
    """


class TableReplacedError(SeriatimError):
    """The table was dropped and created anew while the change was computed; nothing was written to the new one."""

    def __init__(self, table: str, *, expected_uuid: str, actual_uuid: str) -> None:
        """Build the message from the two table uuids."""
        super().__init__(
            f"{table}: the table read had uuid {expected_uuid}, the one in the catalog now has {actual_uuid}. "
            f"Nothing was written to it; run the change again if it is meant for the new table."
        )
        self.table, self.expected_uuid, self.actual_uuid = table, expected_uuid, actual_uuid


class HistoryCutError(SeriatimError):
    """The history was cut, so whether an operation has landed cannot be told; nothing was written."""

    def __init__(self, table: str, *, oldest_snapshot_id: int, operation_ids: Sequence[str]) -> None:
        """Build the message from the oldest snapshot that could be reached and the ids that were looked for."""
        super().__init__(
            f"{table}: the history ends at snapshot {oldest_snapshot_id}, which is not known to be the table's "
            f"beginning, and {', '.join(operation_ids)} is not in what is left. It may have landed before; nothing was "
            f"written."
        )
        self.table, self.oldest_snapshot_id, self.operation_ids = table, oldest_snapshot_id, tuple(operation_ids)


class LedgerUnreadableError(SeriatimError):
    """The ledger is gone, damaged or of a newer Seriatim, so what has landed cannot be told; nothing was written."""

    def __init__(self, table: str, *, location: str, reason: str) -> None:
        """Build the message from what cannot be read and why."""
        super().__init__(
            f"{table}: the ledger at {location} cannot be read ({reason}), so it cannot be told which operations have "
            f"landed; nothing was written. Restore the file, or use the newer Seriatim."
        )
        self.table, self.location, self.reason = table, location, reason


class OperationTooOldError(SeriatimError):
    """The operation was issued before what the ledger remembers, so it may have landed; nothing was written."""

    def __init__(self, table: str, *, operation_ids: Sequence[str], issued_at_ms: int, forgotten_until_ms: int) -> None:
        """Build the message from the operations and the two times."""
        super().__init__(
            f"{table}: {', '.join(operation_ids)} was issued at {issued_at_ms} ms, and what was applied before "
            f"{forgotten_until_ms} ms may be forgotten. It may have landed; nothing was written. If the rows show that "
            f"it has not, issue it anew; a longer window of the ledger keeps ids longer."
        )
        self.table, self.operation_ids = table, tuple(operation_ids)
        self.issued_at_ms, self.forgotten_until_ms = issued_at_ms, forgotten_until_ms


class StreamGapError(SeriatimError):
    """The step is not the next one of its stream: a step is missing, or overlaps what was applied; nothing was written.

    Begin again from `watermark`.
    """

    def __init__(self, table: str, *, stream: str, watermark: int | None, after: int | None, upto: int) -> None:
        """Build the message from where the stream is (None: not begun) and what the step follows (None: nothing)."""
        reached = "has not begun" if watermark is None else f"is at {watermark}"
        super().__init__(
            f"{table}: stream {stream!r} {reached}, so a step to {upto} that follows {after} leaves a gap or overlaps; "
            f"nothing was written."
        )
        self.table, self.stream, self.watermark, self.after, self.upto = table, stream, watermark, after, upto


class ConflictTableError(SeriatimError):
    """The table is none that keeps conflicts; name the one that the sensor records them in."""

    def __init__(self, table: str, *, missing: Sequence[str]) -> None:
        """Build the message from the columns that it lacks."""
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        super().__init__(
            f"{table} keeps no conflicts: it has no column {missing[0]!r}{more}. Name the table that the conflict "
            f"sensor records them in."
        )
        self.table, self.missing = table, tuple(missing)


class AuditRefusedError(SeriatimError):
    """An invariant does not fit the table, so nothing was judged; declare one that does."""

    def __init__(self, table: str, *, invariant: str, column: str, reason: str) -> None:
        """Build the message from the invariant, the column that does not fit, and why."""
        super().__init__(f"{table}: it cannot be judged whether {invariant}: column {column!r} {reason}.")
        self.table, self.invariant, self.column, self.reason = table, invariant, column, reason


class UpkeepRefusedError(SeriatimError):
    """Upkeep could not be done without a risk for files or a history that somebody needs, so it was not done."""

    def __init__(self, table: str, *, reason: str, remedy: str) -> None:
        """Build the message from what stands in the way and what to do about it."""
        super().__init__(f"{table}: {reason}. {remedy}")
        self.table, self.reason, self.remedy = table, reason, remedy


class MirrorError(SeriatimError):
    """A Delta table could not be mirrored; the versions that landed before it stay as they are."""


class HistoryGapError(MirrorError):
    """Versions that are still to be mirrored are gone from the Delta log."""

    def __init__(self, source: str, *, missing_from: int, missing_upto: int) -> None:
        """Build the message from the first and the last version that is gone."""
        super().__init__(
            f"{source}: versions {missing_from} to {missing_upto} are still to be mirrored, and are no longer in the "
            f"Delta log. on_gap='snapshot' (--on-gap snapshot) lands what they came to as one snapshot, marked as such."
        )
        self.source, self.missing_from, self.missing_upto = source, missing_from, missing_upto


class SourceMismatchError(MirrorError):
    """The target table is not the mirror of this Delta table as it was left; nothing was written."""

    def __init__(self, table: str, *, source: str, reason: str, remedy: str) -> None:
        """Build the message from the two tables, what does not fit, and what to do."""
        super().__init__(f"{table} cannot go on as the mirror of {source}: {reason}; nothing was written. {remedy}")
        self.table, self.source, self.reason, self.remedy = table, source, reason, remedy


class UnsupportedFeatureError(MirrorError):
    """A version of the Delta table uses what cannot be said in Iceberg; it was not mirrored."""

    def __init__(
        self, source: str, *, version: int | None, feature: str, column: str | None = None, operation: str | None = None
    ) -> None:
        """Build the message from the version, what it uses, and where (None: the table as such)."""
        where = f"version {version}" if version is not None else "the table"
        by = f" ({operation})" if operation else ""
        at = f" in column {column!r}" if column is not None else ""
        super().__init__(
            f"{source}: {where}{by} uses {feature}{at}, which cannot be mirrored"
            + (f"; the versions up to {version - 1} can." if version else ".")
        )
        self.source, self.version, self.feature, self.column = source, version, feature, column
        self.operation = operation

    def of(self, operation: str | None) -> UnsupportedFeatureError:
        """Return the same error, which says also by what operation the version was made."""
        return UnsupportedFeatureError(
            self.source, version=self.version, feature=self.feature, column=self.column, operation=operation
        )


class DeltaLogError(MirrorError):
    """The Delta log cannot be read, or contradicts itself; nothing was written for that version."""

    def __init__(self, source: str, *, version: int | None, reason: str) -> None:
        """Build the message from the version (None: before any is known) and what is wrong with it."""
        where = f"version {version}" if version is not None else "the Delta log"
        super().__init__(f"{source}: {where} cannot be read: {reason}.")
        self.source, self.version, self.reason = source, version, reason


class NotAppendedError(MirrorError):
    """A version of the Delta table took rows away or changed them, so it cannot be consumed as new rows."""

    def __init__(self, table: str, *, version: int, operation: str | None) -> None:
        """Build the message from the mirror, the version, and Delta's word for what it did (None: it does not say)."""
        super().__init__(
            f"{table}: version {version} of the Delta table ({operation or 'unknown operation'}) took rows away or "
            f"changed them, and what was made of them cannot be taken back. Such a table is not for consuming: correct "
            f"it by appending, and begin with a new one where this has happened."
        )
        self.table, self.version, self.operation = table, version, operation


class ChangesUnknownError(MirrorError):
    """What a range of Delta versions added cannot be told from the mirror; nothing was read."""

    def __init__(self, table: str, *, after: int | None, upto: int, reason: str) -> None:
        """Build the message from the mirror, the range (None: from the first version), and why."""
        since = "up to" if after is None else f"after {after} up to"
        super().__init__(
            f"{table}: what the Delta versions {since} {upto} have added cannot be told: {reason}. Mirror the Delta "
            f"table up to there, and keep the mirror's snapshots and Delta's files until they are consumed."
        )
        self.table, self.after, self.upto, self.reason = table, after, upto, reason


class InvalidChangeError(SeriatimError):
    """The change cannot be applied to this table; nothing was written, so mend the change."""


class RowNotFoundError(InvalidChangeError):
    """No row has the key; nothing was written."""

    def __init__(self, table: str, *, key: object) -> None:
        """Build the message from the key that has no row."""
        super().__init__(f"{table}: there is no row with id {key!r}; insert it first.")
        self.table, self.key = table, key


class DuplicateKeyError(InvalidChangeError):
    """More than one row has the key; nothing was written."""

    def __init__(self, table: str, *, key: object, count: int) -> None:
        """Build the message from the key and the number of its rows."""
        super().__init__(f"{table}: {count} rows have id {key!r}, which must be unique; remove all but one.")
        self.table, self.key, self.count = table, key, count


class BalanceError(InvalidChangeError):
    """The value is no balance that the column can hold; nothing was written."""

    def __init__(self, table: str, *, value: object, reason: str) -> None:
        """Build the message from the value and what is wrong with it."""
        super().__init__(f"{table}: {value!r} ({type(value).__name__}) is no balance: {reason}.")
        self.table, self.value, self.reason = table, value, reason
