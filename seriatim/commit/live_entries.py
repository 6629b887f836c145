"""What the manifests of a table list, as far as a chain of snapshots needs it: each is read once, own ones never."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestEntry, ManifestFile

from seriatim.commit import private


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
    """Reads manifests, and remembers what they list where later snapshots will ask again."""

    def __init__(self, io: FileIO, *, remembers: bool) -> None:
        """Remember nothing of what is read for a single snapshot: a large table has more entries than fit."""
        self._io, self._remembers = io, remembers
        self._known: dict[str, Listed] = {}

    def of(self, manifest: ManifestFile) -> Listed:
        """Return what the manifest lists."""
        known = self._known.get(manifest.manifest_path)
        if known is None:
            known = Listed.of(private.read_manifest(self._io, manifest))
            self.remember(manifest, known)
        return known

    def remember(self, manifest: ManifestFile, listed: Listed) -> None:
        """Know what a manifest lists from now on, without reading it."""
        if self._remembers:
            self._known[manifest.manifest_path] = listed

    def keep_only(self, manifests: Sequence[ManifestFile]) -> None:
        """Forget all other manifests: no later snapshot has them."""
        paths = {manifest.manifest_path for manifest in manifests}
        self._known = {path: listed for path, listed in self._known.items() if path in paths}
