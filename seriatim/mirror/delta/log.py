"""The log of a Delta table: which versions there are, what each changed, and what the table is at one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from seriatim.errors import DeltaLogError, HistoryGapError
from seriatim.mirror.delta.actions import AddFile, Commit, DeletionVector, FileKey, Metadata, Protocol, State
from seriatim.mirror.delta.checkpoints import read_checkpoint
from seriatim.mirror.delta.deletion_vectors import positions
from seriatim.mirror.delta.json_actions import Actions, MalformedError, read_actions
from seriatim.mirror.delta.listing import Listing, Segment, list_log
from seriatim.mirror.delta.locations import root_location
from seriatim.mirror.delta.storage import Entry, Storage, one_line

_HEAD = ("metaData", "protocol")


@dataclass(frozen=True, slots=True)
class DeltaLog:
    """Reads one Delta table's log; every call looks anew, since the table grows meanwhile.

    A version's time is its in-commit timestamp where it has one, else the time that its `commitInfo` names, else
    the time of its file. Delta takes the file's time in place of the second, which any copy of the table changes;
    a mirror of the copy should say the same as a mirror of the original.
    """

    source: str  # the address as it was given, for messages
    root: str  # the absolute location that relative paths are put after
    _storage: Storage = field(repr=False)

    @classmethod
    def open(cls, uri: str, storage_options: Mapping[str, str] | None = None) -> DeltaLog:
        """Return the log of the table at a local path or a URI; nothing is read yet.

        Raises:
            DeltaLogError: the address is none that can be read.
        """
        try:
            root = root_location(uri)
        except ValueError as err:
            raise DeltaLogError(uri, version=None, reason=f"its address is no URI: {err}") from err
        return cls(uri, root, Storage(root, uri, dict(storage_options or {})))

    def latest_version(self) -> int:
        """Return the newest version.

        Raises:
            DeltaLogError: there is no log, or it cannot be listed.
        """
        return self._list()[1]

    def first_commit(self) -> int | None:
        """Return the version from which on all commits are there one by one; None: not even the newest is."""
        listing, latest = self._list()
        first = latest + 1
        while first - 1 in listing.commits:
            first -= 1
        return first if first <= latest else None

    def commits(self, after: int, upto: int) -> Iterator[Commit]:
        """Return what the versions after `after` changed, up to and with `upto`, each read when it is asked for.

        Raises:
            HistoryGapError: some of them are gone from the log; said at once, before any is read.
            DeltaLogError: `upto` is not there yet, or, when its turn comes, a commit cannot be read.
        """
        listing = self._list_upto(upto)
        gap = listing.missing(after, upto)
        if gap is not None:
            raise HistoryGapError(self.source, missing_from=gap[0], missing_upto=gap[1])
        return self._commits([listing.commits[version] for version in range(after + 1, upto + 1)], after + 1)

    def state(self, version: int) -> State:
        """Return the table at a version, from the newest checkpoint that can be read and what followed it.

        Raises:
            DeltaLogError: the version is not there, or what is left of the log does not come to it.
        """
        listing = self._list_upto(version)
        segment, start = self._begin(listing, version, files=True)
        protocol, metadata = start.protocol, start.metadata
        files: dict[FileKey, AddFile] = {add.key: add for add in start.adds}
        info = start.info
        for entry, content in self._read_deltas(segment.deltas, version):
            actions = self._parse(content, version, entry)
            protocol, metadata, info = actions.protocol or protocol, actions.metadata or metadata, actions.info
            for remove in actions.removes:
                files.pop(remove.key, None)
            files.update((add.key, add) for add in actions.adds)
        known = self._require_head(protocol, metadata, version)
        return State(version, self._timestamp_ms(listing, segment, info, version), *known, files)

    def head(self, version: int) -> tuple[Protocol, Metadata]:
        """Return the protocol and the metadata at a version, without its files.

        Raises:
            DeltaLogError: as `state`.
        """
        segment, start = self._begin(self._list_upto(version), version, files=False)
        protocol, metadata = start.protocol, start.metadata
        for entry, content in self._read_deltas(segment.deltas, version):
            actions = self._parse(content, version, entry, kinds=_HEAD)
            protocol, metadata = actions.protocol or protocol, actions.metadata or metadata
        return self._require_head(protocol, metadata, version)

    def stated_time_ms(self, version: int) -> int | None:
        """Return when a version says that it was committed; None: it does not say, or its commit is gone."""
        entry = self._list()[0].commits.get(version)
        if entry is None:
            return None
        ((_, content),) = self._read_deltas((entry,), version)
        return _stated_ms(self._parse(content, version, entry, kinds=("commitInfo",)).info)

    def deleted_positions(self, vector: DeletionVector, version: int | None = None) -> pa.Int64Array:
        """Return which rows of its file a deletion vector deletes, counted from 0, in order.

        `version` is the one that is being read, for the message (None: not known).

        Raises:
            DeltaLogError: it cannot be read or is damaged.
        """
        return positions(vector, self.root, self._storage.read_range, source=self.source, version=version)

    def _list(self) -> tuple[Listing, int]:
        """Return what lies in the log, and the newest version."""
        try:
            listing = list_log(self._storage.entries(f"{self.root}/_delta_log"))
        except FileNotFoundError as err:
            raise self._no_log() from err
        except OSError as err:
            raise DeltaLogError(self.source, version=None, reason=one_line(err)) from err
        if listing.latest is None:
            raise self._no_log()
        return listing, listing.latest

    def _list_upto(self, version: int) -> Listing:
        """Return what lies in the log, which reaches up to a version."""
        listing, latest = self._list()
        if not -1 <= version <= latest:
            raise DeltaLogError(self.source, version=version, reason=f"the log goes from 0 to {latest}")
        return listing

    def _no_log(self) -> DeltaLogError:
        reason = (
            f"{self.root}/_delta_log holds no commits; give the folder that _delta_log lies in, and look whether the "
            f"table was written and the storage options reach it"
        )
        return DeltaLogError(self.source, version=None, reason=reason)

    def _commits(self, entries: list[Entry], first: int) -> Iterator[Commit]:
        """Yield what each of these files says; the first is that of version `first`."""
        for version, entry in enumerate(entries, start=first):
            try:
                content = self._storage.read(self._location(entry))
            except FileNotFoundError as err:  # Cleaned up since it was listed.
                raise HistoryGapError(self.source, missing_from=version, missing_upto=version) from err
            except OSError as err:
                raise DeltaLogError(self.source, version=version, reason=one_line(err)) from err
            actions = self._parse(content, version, entry)
            if version == 0:
                self._require_head(actions.protocol, actions.metadata, version)
            yield _commit(actions, version, entry)

    def _begin(self, listing: Listing, version: int, *, files: bool) -> tuple[Segment, Actions]:
        """Return what a version is made from, and what its checkpoint says: the newest that can be read."""
        damage: Exception | None = None
        for segment in listing.segments(version):
            if segment.checkpoint is None:
                return segment, Actions()
            try:
                return segment, read_checkpoint(self._storage, segment.checkpoint, files=files)
            except (MalformedError, OSError) as err:
                damage = damage or err
        if damage is not None:
            raise DeltaLogError(self.source, version=version, reason=f"its checkpoint is damaged: {one_line(damage)}")
        reason = "no checkpoint comes before it, or commits between are missing, so it is not known what it holds"
        raise DeltaLogError(self.source, version=version, reason=reason)

    def _read_deltas(self, deltas: tuple[Entry, ...], version: int) -> Iterator[tuple[Entry, bytes]]:
        """Yield what is in files that lead to a version."""
        for entry in deltas:
            try:
                content = self._storage.read(self._location(entry))
            except OSError as err:
                raise DeltaLogError(self.source, version=version, reason=one_line(err)) from err
            yield entry, content

    def _location(self, entry: Entry) -> str:
        return f"{self.root}/_delta_log/{entry.name}"

    def _parse(self, content: bytes, version: int, entry: Entry, *, kinds: tuple[str, ...] = ()) -> Actions:
        """Return what a file of JSON lines says."""
        try:
            return read_actions(content, self.root, kinds=kinds)
        except MalformedError as err:
            raise DeltaLogError(self.source, version=version, reason=f"{entry.name}, {err}") from err

    def _require_head(
        self, protocol: Protocol | None, metadata: Metadata | None, version: int
    ) -> tuple[Protocol, Metadata]:
        """Return both; a table without them is none."""
        if protocol is None or metadata is None:
            missing = "protocol" if protocol is None else "metaData"
            raise DeltaLogError(self.source, version=version, reason=f"no {missing} was written up to it")
        return protocol, metadata

    def _timestamp_ms(self, listing: Listing, segment: Segment, info: Mapping[str, object], version: int) -> int:
        """Return when a version was made: what its commit says, else when the newest file of what it is made of was."""
        commit = listing.commits.get(version)
        if commit is None:
            last = segment.deltas[-1] if segment.deltas or segment.checkpoint is None else segment.checkpoint.parts[0]
            return last.modified_ms
        if not segment.deltas:  # The checkpoint was all that was read.
            for _, content in self._read_deltas((commit,), version):
                info = self._parse(content, version, commit, kinds=("commitInfo",)).info
        return _time_ms(info, commit)


def _commit(actions: Actions, version: int, entry: Entry) -> Commit:
    """Return what one version changed; a file that is said twice counts once."""
    operation = actions.info.get("operation")
    return Commit(
        version=version,
        timestamp_ms=_time_ms(actions.info, entry),
        operation=operation if isinstance(operation, str) else None,
        adds=tuple({add.key: add for add in actions.adds}.values()),
        removes=tuple({remove.key: remove for remove in actions.removes}.values()),
        metadata=actions.metadata,
        protocol=actions.protocol,
    )


def _time_ms(info: Mapping[str, object], entry: Entry) -> int:
    """Return the time that a commit gives for itself, else that of its file."""
    stated = _stated_ms(info)
    return entry.modified_ms if stated is None else stated


def _stated_ms(info: Mapping[str, object]) -> int | None:
    """Return the time that a commit gives for itself (None: it gives none)."""
    for name in ("inCommitTimestamp", "timestamp"):  # The first is written only while the table has that feature on.
        value = info.get(name)
        if isinstance(value, int):
            return value
    return None
