"""Reads the files of a Delta table, wherever they are: local ones by PyArrow, all others by deltalake's object stores.

What cannot be read is an `OSError` here, whichever library said so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyarrow import fs

from seriatim.mirror.delta.locations import as_uri, is_local


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a folder."""

    name: str
    modified_ms: int  # 0: the store does not say


@dataclass(frozen=True, slots=True)
class Storage:
    """Reads files by their absolute locations."""

    root: str  # the table's location
    uri: str  # the same as it was given
    options: Mapping[str, str] = field(default_factory=dict)
    _opened: dict[str, fs.FileSystem] = field(default_factory=dict)  # by the folder that paths are relative to

    def entries(self, folder: str) -> list[Entry]:
        """Return the files that lie directly in a folder, in no order.

        Raises:
            FileNotFoundError: there is no such folder (an object store, which has none, returns nothing instead).
        """
        filesystem, path = self._locate(folder)
        infos = filesystem.get_file_info(fs.FileSelector(path, recursive=False))
        return [
            Entry(info.base_name, (info.mtime_ns or 0) // 1_000_000) for info in infos if info.type == fs.FileType.File
        ]

    def read(self, location: str) -> bytes:
        """Return all that is in a file."""
        filesystem, path = self._locate(location)
        with filesystem.open_input_stream(path) as stream:
            content: bytes = stream.readall()
        return content

    def read_range(self, location: str, offset: int, size: int) -> bytes:
        """Return `size` bytes from `offset` on; fewer where the file ends."""
        with self.open(location) as file:
            file.seek(offset)
            content: bytes = file.read(size)
        return content

    def open(self, location: str) -> pa.NativeFile:
        """Open a file for reading anywhere in it."""
        filesystem, path = self._locate(location)
        return filesystem.open_input_file(path)

    def _locate(self, location: str) -> tuple[fs.FileSystem, str]:
        """Return the file system that holds a location, and its path there."""
        if is_local(location):
            return self._opened.setdefault("", fs.LocalFileSystem()), location
        if location == self.root or location.startswith(f"{self.root}/"):
            return self._store(self.root, self.uri), location[len(self.root) + 1 :]
        folder, _, name = location.rpartition("/")
        return self._store(folder, as_uri(folder)), name

    def _store(self, folder: str, uri: str) -> fs.FileSystem:
        """Return the object store whose paths are relative to a folder."""
        if folder not in self._opened:
            self._opened[folder] = _object_store(uri, self.options)
        return self._opened[folder]


def _object_store(uri: str, options: Mapping[str, str]) -> fs.FileSystem:
    """Return deltalake's object store for a URI, as a file system of PyArrow.

    Raises:
        OSError: deltalake is not installed, or knows no such store.
    """
    try:
        from deltalake.exceptions import DeltaError
        from deltalake.fs import DeltaStorageHandler
    except ImportError as err:
        raise OSError(f"{uri} is read by deltalake, which is missing; install seriatim[delta]") from err
    try:
        return fs.PyFileSystem(DeltaStorageHandler(uri, dict(options)))
    except DeltaError as err:
        raise OSError(f"{err} (look at the address and the storage options)") from err


def one_line(err: Exception) -> str:
    """Return what an error says without the colours and the line breaks of deltalake's messages."""
    return " ".join(re.sub(r"\x1b\[\d*m", "", str(err)).split())
