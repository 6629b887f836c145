"""What the manifests of a table list: each is read once, and those that we have written never."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestEntry, ManifestFile
from pyiceberg.table.snapshots import Snapshot

from seriatim.commit import private

REMEMBERED_MAX: Final = 10_000  # entries, about 20 MB: a large table has more than fit


@dataclass(frozen=True, slots=True)
class Listed:
    """The live entries of one manifest, with the numbers that they inherit from it."""

    entries: Sequence[ManifestEntry]
    paths: frozenset[str]

    @classmethod
    def of(cls, entries: Sequence[ManifestEntry]) -> Listed:
        """Return the entries, to be found by the paths of their files."""
        return cls(entries, frozenset(entry.data_file.file_path for entry in entries))


class LiveEntries:
    """Reads manifests and the lists of them, and remembers what will be asked for again: neither ever changes."""

    def __init__(self, io: FileIO, *, remembered_max: int | None = REMEMBERED_MAX) -> None:
        """Remember up to so many entries (None: all), and forget nothing to make room for others of the same load."""
        self.io = io
        self._remembered_max = remembered_max
        self._count = 0
        self._known: dict[str, Listed] = {}
        self._before: dict[str, Listed] = {}  # what was known of the table as it was loaded before
        self._list: tuple[str, Sequence[ManifestFile]] | None = None  # the one read last

    def through(self, io: FileIO) -> LiveEntries:
        """Return what is known, to be added to by reading through another `io`: one of a table that was loaded anew."""
        result = LiveEntries(io, remembered_max=self._remembered_max)
        result._before = {**self._before, **self._known}
        excess = 0 if self._remembered_max is None else _count(result._before) - self._remembered_max
        for path in list(result._before):  # What was known first may be of no snapshot any more.
            if excess <= 0:
                break
            excess -= len(result._before.pop(path).entries)
        return result

    def manifests(self, snapshot: Snapshot | None) -> Sequence[ManifestFile]:
        """Return the manifests of a snapshot (None: there is none, and so are they)."""
        if snapshot is None:
            return ()
        if self._list is None or self._list[0] != snapshot.manifest_list:
            self._list = snapshot.manifest_list, private.read_manifest_list(self.io, snapshot.manifest_list)
        return self._list[1]

    def knows(self, manifest: ManifestFile) -> bool:
        """Tell whether it can be said what the manifest lists without reading it."""
        return manifest.manifest_path in self._known or manifest.manifest_path in self._before

    def of(self, manifest: ManifestFile) -> Listed:
        """Return what the manifest lists."""
        known = self._known.get(manifest.manifest_path)
        if known is None:
            known = self._before.get(manifest.manifest_path)
            if known is None:
                known = Listed.of(private.read_manifest(self.io, manifest))
            self.remember(manifest, known)
        return known

    def remember(self, manifest: ManifestFile, listed: Listed) -> None:
        """Know what a manifest lists from now on, without reading it, if there is room."""
        if self._remembered_max is not None and self._count + len(listed.entries) > self._remembered_max:
            return
        self._count += len(listed.entries)
        self._known[manifest.manifest_path] = listed

    def keep_only(self, manifests: Sequence[ManifestFile]) -> None:
        """Forget all other manifests, if only that bounds what is remembered: no later snapshot has them."""
        if self._remembered_max is not None:
            return
        paths = {manifest.manifest_path for manifest in manifests}
        self._known = {path: listed for path, listed in self._known.items() if path in paths}
        self._count = _count(self._known)


def _count(known: Mapping[str, Listed]) -> int:
    return sum(len(listed.entries) for listed in known.values())


def is_live(manifest: ManifestFile) -> bool:
    """Tell whether the manifest may list a file that is there; one that does not say how many may."""
    return manifest.has_added_files() or manifest.has_existing_files()
