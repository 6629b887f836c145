"""The ledger: which operations have been applied, told by the newest commit of ours for all that came before it.

A look-up walks from the base over commits that are not ours, down to the first one of ours that carries the ledger's
words; it costs the same however long the history is. Absence is proof only there, or at the table's beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pyiceberg.io import FileIO
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.statistics import StatisticsFile
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    RemoveStatisticsUpdate,
    SetSnapshotRefUpdate,
    SetStatisticsUpdate,
    TableUpdate,
)

from seriatim.commit import ledger_file, ledger_words
from seriatim.commit.ledger_file import Contents, Encoded
from seriatim.commit.ledger_names import Names
from seriatim.commit.ledger_policy import LedgerPolicy
from seriatim.commit.ledger_words import Entry, FileReference, Page
from seriatim.commit.lineage import is_beginning, walk
from seriatim.commit.partitions import partition_of
from seriatim.commit.pin import Pin
from seriatim.commit.streams import Watermark, is_applied
from seriatim.errors import HistoryCutError, InvalidChangeError, LedgerUnreadableError, OperationTooOldError
from seriatim.system import new_id

_TAG: Final = "seriatim-ledger"


def tag_of(branch: str) -> str:
    """Return the tag that keeps our newest commit on the branch from being expired by others."""
    return _TAG if branch == MAIN_BRANCH else f"{_TAG}-{branch}"


@dataclass(frozen=True, slots=True)
class Ledger:
    """What the lineage of one base says."""

    table: str
    page: Page
    cut_at: int | None  # where the walk ended without proof; None: it ended at proof, so that absence counts
    policy: LedgerPolicy
    pin: Pin
    _handle: Table = field(repr=False)

    @classmethod
    def at(cls, table: str, handle: Table, pin: Pin, policy: LedgerPolicy) -> Ledger:
        """Read the words of the lineage of `pin`, in the table as it was loaded.

        Raises:
            LedgerUnreadableError: a newer Seriatim wrote them.
            InvalidChangeError: the tag's name is taken by a branch.
        """
        ref = handle.metadata.refs.get(tag_of(pin.branch))
        if ref is not None and ref.snapshot_ref_type != SnapshotRefType.TAG:
            raise InvalidChangeError(f"{table}: {tag_of(pin.branch)!r} is a branch, but the ledger needs it as its tag")
        page, cut_at = _page(table, handle, pin, policy)
        return cls(table, page, cut_at, policy, pin, handle)

    def applied(self, names: Names) -> dict[str, int | None]:
        """Return which of the operations have been applied, each with its snapshot (None: not known which).

        Raises:
            HistoryCutError: some are not there, and the history does not reach back to where that would be proof.
            LedgerUnreadableError: the ledger file is gone or damaged.
            OperationTooOldError: some are not there, and were issued before the time that the ledger remembers.
            StreamGapError: the step of the stream is neither applied nor the next one.
        """
        found = self._found([*names.ids, *(names.partitions.operation_ids if names.partitions else ())])
        watermark = self.watermark(names.stream.name) if names.stream else None
        if self.cut_at is not None and not self.policy.accepts_cut_history:
            missing = [name for name in names.operation_ids if name not in found]
            if missing:
                raise HistoryCutError(self.table, oldest_snapshot_id=self.cut_at, operation_ids=sorted(missing))
        self._require_recent(names, found)
        if names.stream is not None and is_applied(self.table, names.stream, watermark):
            found[names.stream.operation_id] = watermark.snapshot_id if watermark else None
        return found

    def watermark(self, stream: str) -> Watermark | None:
        """Return the place that a stream has reached; None: it has not begun, as far as the walk came.

        Raises:
            LedgerUnreadableError: the ledger file is gone or damaged.
        """
        if stream in self.page.watermarks:
            return self.page.watermarks[stream]
        contents = self._contents()
        return contents.watermarks.get(stream) if contents is not None else None

    def next(self, names: Names, pending: Sequence[str], now_ms: int) -> NextPage:
        """Return what the commit that applies `pending` on this base is to carry."""
        if self.cut_at is not None and not self.policy.accepts_cut_history:
            return NextPage({}, self.pin.branch)  # What cannot be vouched for is not carried on: the walk goes on.
        own = ledger_words.own_words(names, pending, max(now_ms, names.issued_at_ms or 0))
        words = self.page.words()
        carried = len(words.get(ledger_words.RECENT, "")) + len(words.get(ledger_words.WATERMARKS, ""))
        if (
            not self._is_accepted
            and self.page.size <= self.policy.recent_max
            and carried <= self.policy.recent_bytes_max
        ):
            return NextPage({**words, **own}, self.pin.branch, self.page.file, removals=self._removals())
        encoded = Encoded.of(self._folded(now_ms), self.pin.snapshot_id, self.pin.sequence_number)
        name = f"{_TAG}-{new_id()}.stats"
        file = encoded.reference(self._handle.location_provider().new_metadata_location(name))
        return NextPage({**Page(file=file).words(), **own}, self.pin.branch, file, encoded, self._removals())

    def _found(self, names: Sequence[str]) -> dict[str, int | None]:
        """Look the operations up, by name alone: however one was applied, it is found."""
        if not names:
            return {}
        in_page: dict[str, int | None] = {}
        for entry in self.page.entries:
            in_page.update(dict.fromkeys(entry.ids, entry.snapshot_id))
        found = {name: in_page[name] for name in names if name in in_page}
        missing = [name for name in names if name not in found]
        if missing and (contents := self._contents()) is not None:
            found.update(contents.find(missing))
        for name in missing:
            if name not in found and (partition := partition_of(name)) is not None:
                found.update(self._found_partition(name, *partition))
        return found

    def _found_partition(self, name: str, asset: str, key: str) -> dict[str, int | None]:
        for entry in self.page.entries:
            if key in entry.partitions.get(asset, ()):
                return {name: entry.snapshot_id}
        contents = self._contents()
        return {name: None} if contents is not None and contents.partitions.has(asset, key) else {}

    def _require_recent(self, names: Names, found: dict[str, int | None]) -> None:
        missing = [name for name in names.ids if name not in found]
        if names.issued_at_ms is None or not missing:
            return
        contents = self._contents()
        until_ms = contents.forgotten_until_ms if contents is not None else None
        if until_ms is not None and names.issued_at_ms < until_ms:
            raise OperationTooOldError(
                self.table, operation_ids=missing, issued_at_ms=names.issued_at_ms, forgotten_until_ms=until_ms
            )

    def _contents(self) -> Contents | None:
        """Return what the ledger file says; None: there is none."""
        file = self.page.file
        if file is None:
            return None
        try:
            return ledger_file.read(self._handle.io, file.location)
        except (FileNotFoundError, ledger_file.DamagedLedgerError) as err:
            if self.policy.accepts_cut_history:
                return None
            raise LedgerUnreadableError(self.table, location=file.location, reason=str(err)) from err

    def _removals(self) -> tuple[TableUpdate, ...]:
        """Return what takes the registration of its ledger file from the commit that has had the tag so far.

        There is one registration at a time, so that metadata stays small, and because PyIceberg 0.10 cannot expire a
        snapshot that has one. A snapshot with another branch or tag on it keeps its own.
        """
        metadata = self._handle.metadata
        tag = metadata.refs.get(tag_of(self.pin.branch))
        if tag is None:
            return ()
        names = {name for name, ref in metadata.refs.items() if ref.snapshot_id == tag.snapshot_id}
        is_ours = any(one.snapshot_id == tag.snapshot_id and _TAG in one.statistics_path for one in metadata.statistics)
        if names - {self.pin.branch, tag_of(self.pin.branch)} or not is_ours:
            return ()
        return (RemoveStatisticsUpdate(snapshot_id=tag.snapshot_id),)

    @property
    def _is_accepted(self) -> bool:
        """Whether something is lost that the policy accepts as lost."""
        if not self.policy.accepts_cut_history:
            return False
        return self.cut_at is not None or (self.page.file is not None and self._contents() is None)

    def _folded(self, now_ms: int) -> Contents:
        contents = (self._contents() or Contents()).with_entries(self.page.entries, self.page.watermarks)
        contents = contents.without_older(now_ms - round(self.policy.window_s * 1000))
        return replace(contents, forgotten_until_ms=now_ms) if self._is_accepted else contents


@dataclass(frozen=True, slots=True)
class NextPage:
    """What one commit carries on: words for its summary, and what lands with it."""

    words: dict[str, str]  # empty: the ledger cannot vouch for anything, and the commit carries nothing on
    branch: str
    file: FileReference | None = None  # None: nothing was folded yet
    encoded: Encoded | None = None  # None: the file, if there is one, was there before
    removals: tuple[TableUpdate, ...] = ()  # what is to go before the commit's own updates

    def updates(self, io: FileIO, committed: Sequence[TableUpdate]) -> tuple[TableUpdate, ...]:
        """Write the new ledger file, if there is one, and return what is to land with the commit's last snapshot."""
        if not self.words:
            return ()
        snapshot = [update.snapshot for update in committed if isinstance(update, AddSnapshotUpdate)][-1]
        updates: list[TableUpdate] = []
        if self.file is not None:
            if self.encoded is not None:
                self.encoded.write(io, self.file.location)
            updates.append(SetStatisticsUpdate(statistics=_statistics(self.file, snapshot.snapshot_id)))
        updates.append(_set_tag(tag_of(self.branch), snapshot.snapshot_id))
        return tuple(updates)


def _page(table: str, handle: Table, pin: Pin, policy: LedgerPolicy) -> tuple[Page, int | None]:
    """Return what had been applied at the base, and where the walk ended without proof (None: at proof)."""
    later: list[Entry] = []  # Newest first: commits of ours without the ledger's words.
    oldest: Snapshot | None = None
    for snapshot in walk(handle.metadata, pin.snapshot_id):
        try:
            if _has_words(table, snapshot):
                return _with_later(ledger_words.page_after(snapshot), later), None
            entry = ledger_words.own_entry(snapshot)
        except (ValueError, TypeError, AttributeError) as err:  # No JSON, or not of the form that we write.
            if policy.accepts_cut_history:
                return _with_later(Page(), later), snapshot.snapshot_id
            where = f"snapshot {snapshot.snapshot_id}"
            raise LedgerUnreadableError(table, location=where, reason=f"its words are damaged: {err}") from err
        if entry.size and not (later and later[-1].ids == entry.ids):  # The parts of one commit say the same ids.
            later.append(entry)
        oldest = snapshot
    if oldest is None or is_beginning(oldest):
        return _with_later(Page(), later), None
    linked = _linked(table, handle, pin.branch, oldest)
    if linked is not None:
        return _with_later(ledger_words.page_after(linked), later), None
    return _with_later(Page(), later), oldest.snapshot_id


def _with_later(page: Page, later: Sequence[Entry]) -> Page:
    return Page((*page.entries, *reversed(later)), page.watermarks, page.file)


def _has_words(table: str, snapshot: Snapshot) -> bool:
    found = ledger_words.format_of(snapshot)
    if found is not None and found != ledger_words.FORMAT:
        where = f"snapshot {snapshot.snapshot_id}"
        raise LedgerUnreadableError(table, location=where, reason=f"its format is {found}, of a newer Seriatim")
    return found is not None


def _linked(table: str, handle: Table, branch: str, oldest: Snapshot) -> Snapshot | None:
    """Return our tagged commit, if the oldest snapshot that is left provably descends from it; None: no proof.

    Whoever expired the snapshots between them left the tagged one. It alone proves nothing: the table may have been
    rolled back to before it. But a manifest that it wrote is in the list of its descendants alone, and between it and
    them there was no other commit of ours, which would have taken the tag.
    """
    metadata: TableMetadata = handle.metadata
    ref = metadata.refs.get(tag_of(branch))
    tagged = metadata.snapshot_by_id(ref.snapshot_id) if ref is not None else None
    if tagged is None or not _has_words(table, tagged):
        return None
    manifests = oldest.manifests(handle.io)
    return tagged if any(each.added_snapshot_id == tagged.snapshot_id for each in manifests) else None


def _statistics(file: FileReference, snapshot_id: int) -> StatisticsFile:
    # No blob is listed: PyIceberg cannot load a table that lists a blob of a type it does not know, and Spark wants a
    # column for each.
    return StatisticsFile(
        **{
            "snapshot-id": snapshot_id,
            "statistics-path": file.location,
            "file-size-in-bytes": file.size,
            "file-footer-size-in-bytes": file.footer_size,
            "blob-metadata": [],
        }
    )


def _set_tag(name: str, snapshot_id: int) -> SetSnapshotRefUpdate:
    return SetSnapshotRefUpdate(
        ref_name=name,
        type="tag",
        snapshot_id=snapshot_id,
        max_ref_age_ms=None,
        max_snapshot_age_ms=None,
        min_snapshots_to_keep=None,
    )
