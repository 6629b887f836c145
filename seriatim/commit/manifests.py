"""Which manifests a new snapshot has: those of its parent that stay, and what must be written anew.

A manifest without live files is left out. One that lists a file which is removed is written anew, and so are small
ones, together with what the commit adds: a manifest is taken in when it lists no more live files than are written
anyway, so that n commits leave about log2(n) manifests, and an entry is written again about log2(n) times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.table import TableProperties

_ENTRIES_MAX: Final = 10_000  # of one manifest that is written

ReadEntries = Callable[[ManifestFile], Sequence[ManifestEntry]]
"""Returns the live entries of a manifest, with their sequence numbers."""


@dataclass(slots=True)
class Contents:
    """What is to be written for one partition spec."""

    added: list[DataFile] = field(default_factory=list)
    existing: list[ManifestEntry] = field(default_factory=list)
    deleted: list[ManifestEntry] = field(default_factory=list)
    bytes_before: int = 0  # of the manifests that are written anew in it

    @property
    def live(self) -> int:
        """How many files it lists that are there."""
        return len(self.added) + len(self.existing)

    def in_bounds(self) -> Iterator[Contents]:
        """Yield it in pieces that each fit into one manifest."""
        pieces = max(1, -(-(self.live + len(self.deleted)) // _ENTRIES_MAX))
        for number in range(pieces):
            yield Contents(self.added[number::pieces], self.existing[number::pieces], self.deleted[number::pieces])


@dataclass(slots=True)
class Plan:
    """The manifests of a new snapshot."""

    kept: list[ManifestFile] = field(default_factory=list)
    written: dict[int, Contents] = field(default_factory=dict)  # by partition spec


class MissingFileError(LookupError):
    """A data file that is to be removed is not there."""


def plan(
    manifests: Iterable[ManifestFile],
    read_entries: ReadEntries,
    *,
    added: Sequence[DataFile],
    removed: Sequence[DataFile],
    spec_id: int,
    merges: bool = True,
    target_bytes: int = TableProperties.MANIFEST_TARGET_SIZE_BYTES_DEFAULT,
) -> Plan:
    """Plan a snapshot on a parent with these `manifests`; what is `added` has the partition spec `spec_id`.

    Raises:
        MissingFileError: a file that is removed is in none of the manifests.
    """
    result = Plan()
    if added:
        result.written[spec_id] = Contents(added=list(added))
    live = [manifest for manifest in manifests if _is_live(manifest)]
    _take_out(result, live, read_entries, removed)
    if merges and spec_id in result.written:
        _take_in(result, read_entries, spec_id, target_bytes)
    return result


def merging(properties: Mapping[str, str]) -> tuple[bool, int]:
    """Return what a table's properties say: whether manifests are merged, and up to which size in bytes."""
    is_off = properties.get(TableProperties.MANIFEST_MERGE_ENABLED, "true").lower() == "false"
    target = properties.get(
        TableProperties.MANIFEST_TARGET_SIZE_BYTES, TableProperties.MANIFEST_TARGET_SIZE_BYTES_DEFAULT
    )
    return not is_off, int(target)


def _take_out(
    result: Plan, live: Sequence[ManifestFile], read_entries: ReadEntries, removed: Sequence[DataFile]
) -> None:
    """Write those manifests anew that list a removed file; newer ones are looked into first."""
    sought = {file.file_path for file in removed}
    spec_ids = {file.spec_id for file in removed}
    anew: set[str] = set()
    for manifest in sorted(live, key=lambda each: each.sequence_number or 0, reverse=True):
        if not sought or manifest.content != ManifestContent.DATA or manifest.partition_spec_id not in spec_ids:
            continue
        entries = read_entries(manifest)
        gone = [entry for entry in entries if entry.data_file.file_path in sought]
        if not gone:
            continue
        contents = result.written.setdefault(manifest.partition_spec_id, Contents())
        contents.deleted.extend(gone)
        contents.bytes_before += manifest.manifest_length
        contents.existing.extend(entry for entry in entries if entry.data_file.file_path not in sought)
        sought -= {entry.data_file.file_path for entry in gone}
        anew.add(manifest.manifest_path)
    if sought:
        raise MissingFileError(f"{len(sought)} data files to remove are not in the snapshot, {min(sought)} among them")
    result.kept = [manifest for manifest in live if manifest.manifest_path not in anew]


def _take_in(result: Plan, read_entries: ReadEntries, spec_id: int, target_bytes: int) -> None:
    contents = result.written[spec_id]
    small = [manifest for manifest in result.kept if _live_count(manifest) is not None and _fits(manifest, spec_id)]
    for manifest in sorted(small, key=lambda each: _live_count(each) or 0):
        contents.bytes_before += manifest.manifest_length
        if (_live_count(manifest) or 0) > contents.live or contents.bytes_before > target_bytes:
            return
        contents.existing.extend(read_entries(manifest))
        result.kept.remove(manifest)


def _fits(manifest: ManifestFile, spec_id: int) -> bool:
    return manifest.content == ManifestContent.DATA and manifest.partition_spec_id == spec_id


def _is_live(manifest: ManifestFile) -> bool:
    return manifest.has_added_files() or manifest.has_existing_files()


def _live_count(manifest: ManifestFile) -> int | None:
    """Return how many live files the manifest lists; None: it does not say (format version 1)."""
    if manifest.added_files_count is None or manifest.existing_files_count is None:
        return None
    return manifest.added_files_count + manifest.existing_files_count
