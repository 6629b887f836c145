"""Whether the commits that came after a base can have touched what was read from it (promise P3).

The head is compared with the base, and where it must be each later snapshot with its parent: file by file, from the
manifests themselves, but for those whose partitions rule out that they list such a file. No engine's summary of a
snapshot is believed, but for one word: one whose operation is `replace` has the same rows as its parent, by the Iceberg
specification. Whatever cannot be proven harmless counts as touched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pyiceberg.expressions import BooleanExpression
from pyiceberg.manifest import DataFile, DataFileContent, ManifestContent, ManifestFile
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Snapshot

from seriatim.commit.base_files import BaseFiles
from seriatim.commit.lineage import after
from seriatim.commit.live_entries import LiveEntries
from seriatim.commit.pruning import Pruning, referenced_file

_SNAPSHOTS_MAX: Final = 100  # Comparing more than this costs more than computing again.


class Effect(Enum):
    """What later commits mean for a change that was computed before them."""

    NONE = "nothing that was read has changed, and every file that the change replaces is there as it was"
    REWRITTEN = "nothing that was read has changed, but rows lie in other files: plan the files again"
    STALE = "something that was read may have changed: compute again"


@dataclass(frozen=True, slots=True)
class _Difference:
    """Files that a snapshot has and its parent has not, and the other way round."""

    added: tuple[DataFile, ...]
    removed: tuple[DataFile, ...]

    @property
    def all(self) -> tuple[DataFile, ...]:
        return self.added + self.removed


def effect(
    metadata: TableMetadata,
    files: BaseFiles,
    *,
    base_snapshot_id: int | None,
    head_snapshot_id: int | None,
    base_manifests: Sequence[ManifestFile],
    reads: Sequence[BooleanExpression],
    replaced: Collection[str],
) -> Effect:
    """Tell what the commits from base to head mean for a change that read `reads` and replaces the files `replaced`.

    Schema and partition specs must be what they were. Rows in files that both base and head have are the same, whatever
    was in between. Where that does not settle it, each commit is looked at: it may have moved rows to other files.
    """
    entries, pruning = files.entries, files.pruning(reads)
    if not _is_touched(pruning, entries, base_manifests, metadata.snapshot_by_id(head_snapshot_id or -1)):
        return Effect.NONE
    later = after(metadata, base_snapshot_id, head_snapshot_id)
    if later is None or len(later) > _SNAPSHOTS_MAX:
        return Effect.STALE
    result = Effect.NONE
    before = base_manifests
    for snapshot in later:
        now = entries.manifests(snapshot)
        difference = _difference(pruning, entries, before, now)
        if snapshot.summary is not None and snapshot.summary.operation == Operation.REPLACE:
            if any(file.file_path in replaced or not _is_data(file) for file in difference.all):
                result = Effect.REWRITTEN
        elif _may_touch(pruning, difference, entries, before):
            return Effect.STALE
        before = now
    return result


def _is_touched(pruning: Pruning, entries: LiveEntries, base: Sequence[ManifestFile], head: Snapshot | None) -> bool:
    """Whether a file that only one of base and head has can hold a row that was read."""
    try:
        return _may_touch(pruning, _difference(pruning, entries, base, entries.manifests(head)), entries, base)
    except FileNotFoundError:  # Nothing of the base need be there any more.
        return True


def _may_touch(pruning: Pruning, difference: _Difference, entries: LiveEntries, before: Sequence[ManifestFile]) -> bool:
    """Whether a file that came or went can hold a row that was read."""
    data = [file for file in difference.all if _is_data(file)]
    if any(pruning.may_hold(file) for file in data):
        return True
    deletes = [file for file in difference.all if not _is_data(file)]
    if not deletes:
        return False
    known = {file.file_path: file for file in [*data, *_files(entries, before)]}
    targets = [known.get(referenced_file(file) or "") for file in deletes]
    return any(target is None or pruning.may_hold(target) for target in targets)


def _difference(
    pruning: Pruning, entries: LiveEntries, before: Sequence[ManifestFile], now: Sequence[ManifestFile]
) -> _Difference:
    """Return the files that came and went, with all those among them that can hold a row that was read."""
    old, new = ({manifest.manifest_path: manifest for manifest in manifests} for manifests in (before, now))
    replaced = [old[path] for path in old.keys() - new.keys()]
    written = [new[path] for path in new.keys() - old.keys()]
    if all(manifest.content == ManifestContent.DATA for manifest in (*replaced, *written)):
        # What a delete file is about, in contrast, is looked for among all files.
        replaced, written = (list(filter(pruning.may_list, manifests)) for manifests in (replaced, written))
    gone, come = _numbered(entries, replaced), _numbered(entries, written)
    return _Difference(
        added=tuple(come[file] for file in come.keys() - gone.keys()),
        removed=tuple(gone[file] for file in gone.keys() - come.keys()),
    )


def _numbered(entries: LiveEntries, manifests: Iterable[ManifestFile]) -> dict[tuple[str, int], DataFile]:
    """Return the files by path and sequence number: to one that is added again, older delete files do not apply."""
    listed = (entry for each in manifests for entry in entries.of(each).entries)
    return {(entry.data_file.file_path, entry.sequence_number or 0): entry.data_file for entry in listed}


def _files(entries: LiveEntries, manifests: Iterable[ManifestFile]) -> list[DataFile]:
    return [entry.data_file for each in manifests for entry in entries.of(each).entries]


def _is_data(file: DataFile) -> bool:
    return file.content == DataFileContent.DATA
