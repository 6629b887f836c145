"""Snapshots that were in the table until a moment ago: somebody may be reading them, or computing a change from them.

An expired snapshot is in no metadata, but its manifest list is still there, and engines name it by the snapshot
(`snap-<snapshot id>-...avro`). A snapshot was some branch's newest within the last hours if it was made within them, or
is the parent of one that was. What these reach is not to go, however old it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from pyiceberg.avro.file import AvroFile
from pyiceberg.io import FileIO
from pyiceberg.manifest import MANIFEST_LIST_FILE_SCHEMAS, ManifestFile

from seriatim.upkeep.listing import Listed
from seriatim.upkeep.reachable import DAMAGED, Reachable

_LIST: Final = re.compile(r"snap-(\d+)-.*\.avro")
_PARENT: Final = "parent-snapshot-id"


def snapshot_of(name: str) -> int | None:
    """Return the snapshot whose manifest list has that file name; None: it is no manifest list's."""
    found = _LIST.fullmatch(name)
    return int(found[1]) if found else None


@dataclass(slots=True)
class Recent:
    """The manifest lists that were written within the age, as a listing comes across them."""

    oldest_ms: int
    _young: dict[int, str] = field(default_factory=dict)  # locations, by snapshot
    _parents: set[int] = field(default_factory=set)

    def __len__(self) -> int:
        """How many snapshots were made within the age."""
        return len(self._young)

    def look_at(self, listed: Listed) -> None:
        """Remember the file, if it is the manifest list of a snapshot that was made within the age."""
        snapshot_id = snapshot_of(listed.name)
        if snapshot_id is not None and (listed.modified_at_ms is None or listed.modified_at_ms > self.oldest_ms):
            self._young[snapshot_id] = listed.location

    def take_in(self, io: FileIO, needed: Reachable) -> None:
        """Count what the snapshots reach as needed; `is_parent` knows their parents after it.

        Raises:
            OSError: a file is there and cannot be read.
        """
        for location in self._young.values():
            needed.add_list(io, location)
            self._parents.update(_parent_of(io, location))
        self._parents -= self._young.keys()

    def is_parent(self, name: str) -> bool:
        """Tell whether a file is the manifest list of a snapshot that was the newest when the age began."""
        return snapshot_of(name) in self._parents


def _parent_of(io: FileIO, location: str) -> Iterator[int]:
    """Yield the parent that a manifest list names; a list that is damaged, or gone, names none."""
    try:
        with AvroFile[ManifestFile](io.new_input(location), MANIFEST_LIST_FILE_SCHEMAS[2]) as reader:
            parent = reader.header.meta.get(_PARENT, "null")
    except (FileNotFoundError, *DAMAGED):
        return
    if parent.lstrip("-").isdigit():
        yield int(parent)
