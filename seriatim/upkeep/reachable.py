"""Which files a table needs: everything that a retained snapshot, a ref or the metadata reaches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from typing import Final

from pyiceberg.io import FileIO
from pyiceberg.manifest import read_manifest_list
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata

from seriatim.commit.ledger_words import LEDGER
from seriatim.locations import Place, places

DAMAGED: Final = (EOFError, ValueError, KeyError, IndexError, TypeError)  # What PyIceberg raises at a damaged file.


class Reachable:
    """The files that some state of the table needed, from the first one `add`ed to the last.

    A file is remembered by eight bytes of a hash of its place. Two files with one hash would both count as needed.
    """

    def __init__(self) -> None:
        """Nothing is needed yet."""
        self._needed: set[int] = set()
        self._read: set[int] = set()  # manifest lists and manifests, which never change
        self.prefixes: dict[str, str] = {}  # scheme and authority of what is needed, each with an example

    def __contains__(self, place: Place) -> bool:
        """Tell whether the file is, or may be, needed."""
        return _hash(place) in self._needed

    def __len__(self) -> int:
        """How many files are needed."""
        return len(self._needed)

    def add(self, table: Table) -> None:
        """Take in everything that the table, as it was loaded, needs.

        Raises:
            OSError: a manifest list or a manifest cannot be read.
        """
        self._need(table.metadata_location)
        for location in _beside_snapshots(table.metadata):
            self._need(location)
        for snapshot in table.metadata.snapshots:
            self._add_list(table.io, snapshot.manifest_list)
            ledger = snapshot.summary.additional_properties.get(LEDGER) if snapshot.summary else None
            if ledger is not None:
                self._need(ledger)

    def add_list(self, io: FileIO, location: str) -> None:
        """Take in what a manifest list reaches that no metadata names any more, as far as it is whole.

        What it names in another file system is none of the table's business.

        Raises:
            OSError: it, or a manifest, is there and cannot be read.
        """
        prefixes = dict(self.prefixes)
        with suppress(FileNotFoundError, *DAMAGED):  # A dead attempt's may name what is gone, or be cut short.
            self._add_list(io, location)
        self.prefixes = prefixes

    def _add_list(self, io: FileIO, location: str) -> None:
        number = self._need(location)
        if number in self._read:
            return
        for manifest in read_manifest_list(io.new_input(location)):
            of_manifest = self._need(manifest.manifest_path)
            if of_manifest in self._read:
                continue
            for entry in manifest.fetch_manifest_entry(io, discard_deleted=True):
                self._need(entry.data_file.file_path)
            self._read.add(of_manifest)
        self._read.add(number)

    def _need(self, location: str) -> int:
        number, *others = map(_hash, places(location))
        self._needed.update((number, *others))
        self.prefixes.setdefault(Place.of(location).prefix, location)
        return number


def _beside_snapshots(metadata: TableMetadata) -> Iterator[str]:
    for entry in metadata.metadata_log:
        yield entry.metadata_file
    for file in metadata.statistics:
        yield file.statistics_path
    for of_partitions in metadata.partition_statistics:
        yield of_partitions.statistics_path


def _hash(place: Place) -> int:
    return int.from_bytes(blake2b(str(place).encode(), digest_size=8).digest(), "little")
