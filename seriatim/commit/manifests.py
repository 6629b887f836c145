"""Which manifests a new snapshot has: those of its parent that stay, and what must be written anew.

A manifest without live files is left out. One that lists a file which is removed is written anew, and so are small
ones, together with what the commit adds: a manifest is taken in when it lists no more live files than are written
anyway, so that n commits leave about log2(n) manifests, and an entry is written again about log2(n) times.

Where the snapshot is one of a chain, files that a later one removes are listed apart from a larger number that stay:
otherwise each removal would write all of those again. And where a removal writes a large manifest anew, the files that
were listed near the removed one stay in one with what takes its place, and the others go into some of their own, so
that the next removal reads and writes about the square root of all entries.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isqrt
from typing import Final

from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.table import TableProperties

from seriatim.commit.live_entries import LiveEntries, is_live

_ENTRIES_MAX: Final = 10_000  # of one manifest that is written
_NEAR_MIN: Final = 8
_ANY_SPEC: Final = -1  # Of a removed file that does not say which it has.


@dataclass(slots=True)
class Contents:
    """What is to be written for one partition spec."""

    added: list[DataFile] = field(default_factory=list)
    existing: list[ManifestEntry] = field(default_factory=list)
    deleted: list[ManifestEntry] = field(default_factory=list)
    apart: list[ManifestEntry] = field(default_factory=list)  # exist, too, and stay longer than the others
    bytes_before: int = 0  # of the manifests that are written anew in it, but for what is apart
    near: int = _ENTRIES_MAX  # how many entries those of a manifest may be that a removal writes anew

    @property
    def live(self) -> int:
        """How many files it lists that are there, but for those apart."""
        return len(self.added) + len(self.existing)

    def in_bounds(self) -> Iterator[Contents]:
        """Yield it in pieces that each fit into one manifest."""
        pieces = max(1, -(-(self.live + len(self.deleted)) // _ENTRIES_MAX))
        for number in range(pieces):
            yield Contents(self.added[number::pieces], self.existing[number::pieces], self.deleted[number::pieces])
        for first in range(0, len(self.apart), self.near):
            yield Contents(existing=self.apart[first : first + self.near])

    def take_out(self, entries: Sequence[ManifestEntry], sought: Container[str]) -> None:
        """Take in the entries of a manifest, those sought as deleted; of many, those far from them go apart."""
        places = [number for number, entry in enumerate(entries) if entry.data_file.file_path in sought]
        self.deleted.extend(entries[place] for place in places)
        blocks = {place // self.near for place in places} if len(entries) > 2 * self.near else None
        for number, entry in enumerate(entries):
            if entry.data_file.file_path in sought:
                continue
            is_near = blocks is None or number // self.near in blocks
            (self.existing if is_near else self.apart).append(entry)

    def set_apart(self, later: Container[str]) -> None:
        """Set apart what exists and is not removed later, if that is the larger part of what is listed."""
        staying = [entry for entry in self.existing if entry.data_file.file_path not in later]
        leaving = [entry for entry in self.existing if entry.data_file.file_path in later]
        is_stable = not leaving and not any(file.file_path in later for file in self.added)
        if is_stable or len(staying) <= len(leaving) + len(self.added):
            return
        self.bytes_before = self.bytes_before * len(leaving) // len(self.existing)
        self.existing, self.apart = leaving, [*self.apart, *staying]


@dataclass(slots=True)
class Plan:
    """The manifests of a new snapshot."""

    kept: list[ManifestFile] = field(default_factory=list)
    written: dict[int, Contents] = field(default_factory=dict)  # by partition spec


class MissingFileError(LookupError):
    """A file that is to be removed is not there."""


def plan(
    manifests: Iterable[ManifestFile],
    entries: LiveEntries,
    *,
    content: ManifestContent,
    added: Sequence[DataFile],
    removed: Sequence[DataFile],
    later: Container[str] = (),
    spec_id: int,
    merges: bool = True,
    splits: bool = True,
    target_bytes: int = TableProperties.MANIFEST_TARGET_SIZE_BYTES_DEFAULT,
) -> Plan:
    """Plan those manifests of a snapshot that list files of one kind, on a parent with these `manifests`.

    What is `added` has the partition spec that it says, or else `spec_id`. `later` holds the paths of files that later
    snapshots of the same chain remove. `splits` says that a removal may split a large manifest.

    Raises:
        MissingFileError: a file that is removed is in none of the manifests.
    """
    result = Plan()
    for file in added:
        result.written.setdefault(spec_id_of(file, spec_id), Contents()).added.append(file)
    merged = {spec_id, *result.written}
    live = [manifest for manifest in manifests if manifest.content == content and is_live(manifest)]
    total = sum(_live_count(manifest) or 0 for manifest in live)
    near = max(_NEAR_MIN, isqrt(total)) if splits else _ENTRIES_MAX
    _take_out(result, live, entries, removed, near)
    if merges:
        for contents in result.written.values():
            contents.set_apart(later)
        # In a large table that is split as it is to be, the next removal would write anew what is taken in.
        is_split = total > 4 * near and len(result.kept) <= 2 * near
        for each in merged & result.written.keys():
            if not (result.written[each].deleted and is_split):
                _take_in(result, entries, each, target_bytes)
    return result


def spec_id_of(file: DataFile, otherwise: int) -> int:
    """Return the partition spec of a file; one that was made by hand need not say any."""
    return int(getattr(file, "spec_id", otherwise))


def merging(properties: Mapping[str, str]) -> tuple[bool, int]:
    """Return what a table's properties say: whether manifests are merged, and up to which size in bytes."""
    is_off = properties.get(TableProperties.MANIFEST_MERGE_ENABLED, "true").lower() == "false"
    target = properties.get(
        TableProperties.MANIFEST_TARGET_SIZE_BYTES, TableProperties.MANIFEST_TARGET_SIZE_BYTES_DEFAULT
    )
    return not is_off, int(target)


def _take_out(
    result: Plan, live: Sequence[ManifestFile], entries: LiveEntries, removed: Sequence[DataFile], near: int
) -> None:
    """Write those manifests anew that list a removed file; those that are known come first, then newer ones."""
    sought = {file.file_path for file in removed}
    spec_ids = {spec_id_of(file, _ANY_SPEC) for file in removed}
    anew: set[str] = set()
    for manifest in sorted(live, key=lambda each: (not entries.knows(each), -(each.sequence_number or 0))):
        if not sought:
            break
        if manifest.partition_spec_id not in spec_ids and _ANY_SPEC not in spec_ids:
            continue
        listed = entries.of(manifest)
        if listed.paths.isdisjoint(sought):
            continue
        contents = result.written.setdefault(manifest.partition_spec_id, Contents())
        contents.near = near
        contents.take_out(listed.entries, sought)
        contents.bytes_before += manifest.manifest_length
        sought -= listed.paths
        anew.add(manifest.manifest_path)
    if sought:
        raise MissingFileError(f"{len(sought)} files to remove are not in the snapshot, {min(sought)} among them")
    result.kept = [manifest for manifest in live if manifest.manifest_path not in anew]


def _take_in(result: Plan, entries: LiveEntries, spec_id: int, target_bytes: int) -> None:
    contents = result.written[spec_id]
    small = [each for each in result.kept if each.partition_spec_id == spec_id and _live_count(each) is not None]
    for manifest in sorted(small, key=lambda each: _live_count(each) or 0):
        contents.bytes_before += manifest.manifest_length
        if (_live_count(manifest) or 0) > contents.live or contents.bytes_before > target_bytes:
            return
        contents.existing.extend(entries.of(manifest).entries)
        result.kept.remove(manifest)


def _live_count(manifest: ManifestFile) -> int | None:
    """Return how many live files the manifest lists; None: it does not say (format version 1)."""
    if manifest.added_files_count is None or manifest.existing_files_count is None:
        return None
    return manifest.added_files_count + manifest.existing_files_count
