"""The files of a mirror at one of its snapshots."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pyiceberg.manifest import DataFile, DataFileContent
from pyiceberg.table.snapshots import Snapshot

from seriatim.commit.live_entries import LiveEntries
from seriatim.commit.pruning import referenced_file
from seriatim.mirror.delta.actions import DeletionVector


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A data file, and the position deletes that stand for its deletion vector."""

    data: DataFile
    deletes: DataFile | None = None  # None: no row of it is deleted

    def has(self, vector: DeletionVector | None) -> bool:
        """Whether exactly the rows of that deletion vector are deleted."""
        if vector is None or self.deletes is None:
            return vector is None and self.deletes is None
        return PurePosixPath(self.deletes.file_path).name.startswith(digest(vector))


@dataclass(frozen=True, slots=True)
class Live:
    """What is live at a snapshot, by location."""

    snapshot_id: int | None  # None: the table is empty
    files: Mapping[str, LiveFile] = field(default_factory=dict)

    @classmethod
    def at(cls, snapshot: Snapshot | None, entries: LiveEntries) -> Live:
        """Return the files of the snapshot; of its manifests, those are read that `entries` does not know."""
        if snapshot is None:
            return cls(None)
        data: dict[str, DataFile] = {}
        deletes: dict[str | None, DataFile] = {}  # by the data file, which each of a mirror names
        for manifest in entries.manifests(snapshot):
            for entry in entries.of(manifest).entries:
                file = entry.data_file
                if file.content == DataFileContent.DATA:
                    data[file.file_path] = file
                else:
                    deletes[referenced_file(file)] = file
        return cls(snapshot.snapshot_id, {path: LiveFile(file, deletes.get(path)) for path, file in data.items()})


def digest(vector: DeletionVector) -> str:
    """Return what the name of a position-delete file begins with, so that it tells which deletion vector it is."""
    return hashlib.sha256(vector.unique_id.encode()).hexdigest()[:24]
