"""Which files a table's snapshots need, and which lie in its folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

from pyiceberg.manifest import read_manifest_list
from pyiceberg.table import Table


def local_path(location: str) -> Path:
    """Return the path of a `file:` location."""
    return Path(unquote(urlparse(location).path))


@dataclass(frozen=True, slots=True)
class Inventory:
    """The files under a table's data/ and metadata/ (metadata.json left out), and those its snapshots reach."""

    on_disk: frozenset[Path]
    reachable: frozenset[Path]

    @property
    def missing(self) -> list[Path]:
        """Files that a snapshot needs and that are gone: the table is damaged."""
        return sorted(path for path in self.reachable if not path.exists())

    @property
    def unreachable(self) -> list[Path]:
        """Files that no snapshot needs: somebody did not clean up."""
        return sorted(self.on_disk - self.reachable)


def take_inventory(table: Table) -> Inventory:
    """Walk all snapshots of `table` down to their data files, by-passing PyIceberg's cache of manifest lists."""
    reachable: set[Path] = set()
    for snapshot in table.metadata.snapshots:
        manifest_list = local_path(snapshot.manifest_list)
        reachable.add(manifest_list)
        if not manifest_list.exists():
            continue
        for manifest in read_manifest_list(table.io.new_input(snapshot.manifest_list)):
            manifest_path = local_path(manifest.manifest_path)
            reachable.add(manifest_path)
            if manifest_path.exists():
                entries = manifest.fetch_manifest_entry(table.io, discard_deleted=True)
                reachable.update(local_path(entry.data_file.file_path) for entry in entries)

    home = local_path(table.location())
    data = (path for path in (home / "data").rglob("*") if path.is_file())
    return Inventory(frozenset([*data, *(home / "metadata").glob("*.avro")]), frozenset(reachable))
