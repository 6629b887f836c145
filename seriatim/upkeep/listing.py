"""Lists what lies below a folder, one folder at a time, and deletes from it.

PyIceberg's `FileIO` can open and delete files, but not list them. Its file systems can: those of PyArrow, and those of
fsspec through PyArrow's own adapter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from pyarrow.fs import FileSelector, FileSystem, FileType, FSSpecHandler, PyFileSystem
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO

from seriatim.locations import Place


@dataclass(frozen=True, slots=True)
class Listed:
    """A file or folder, as the file system shows it."""

    location: str  # spelled as the table spells its own
    place: Place
    path: str  # as the file system calls it
    is_folder: bool
    size: int
    modified_at_ms: int | None  # None: the file system does not say

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rstrip("/").rpartition("/")[2]


class ListingError(Exception):
    """Private: the file system cannot be listed, or answers with paths that are not below what was asked for."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of a table, in the file system that its `FileIO` uses."""

    location: str
    place: Place
    _fs: Any = field(repr=False)  # a pyarrow.fs.FileSystem
    _path: str = field(repr=False)

    @classmethod
    def of(cls, io: FileIO, location: str) -> Folder:
        """Return the folder at that location.

        Raises:
            ListingError: there is no file system for such a location.
        """
        location = location.rstrip("/")
        try:
            fs, path = _file_system(io, location)
        except (ValueError, ImportError, OSError) as err:
            raise ListingError(f"{location} cannot be listed: {err}") from err
        return cls(location, Place.of(location), fs, path.rstrip("/"))

    def walk(self) -> Iterator[Listed]:
        """Yield every file and folder below, a folder before what is in it; links are not followed.

        Into a folder whose name begins with `_` or `.` it does not go, unless it is that of a partition.
        """
        waiting = [self._path]
        while waiting:
            for one in self._listed(waiting.pop()):
                yield one
                if one.is_folder and not is_hidden(one.name):
                    waiting.append(one.path)

    def read(self, path: str, size_max: int | None = None) -> bytes:
        """Return the first bytes of a file (None: all of them)."""
        with self._fs.open_input_file(path) as stream:
            content: bytes = stream.read(size_max)
            return content

    def delete(self, path: str) -> None:
        """Delete a file, as the listing calls it; one that is gone already is as good as deleted."""
        try:
            self._fs.delete_file(path)
        except FileNotFoundError:
            return

    def _listed(self, path: str) -> Iterator[Listed]:
        is_local = self.place.scheme == "file"
        for info in self._fs.get_file_info(FileSelector(path, allow_not_found=True)):
            if not info.path.startswith(f"{self._path}/"):
                raise ListingError(f"{info.path} was listed, which is not below {self._path}")
            if is_local and Path(info.path).is_symlink():
                continue
            relative = info.path[len(self._path) :]
            yield Listed(
                location=f"{self.location}{relative}",
                place=self.place.below(relative),
                path=info.path,
                is_folder=info.type == FileType.Directory,
                size=info.size or 0,
                modified_at_ms=info.mtime_ns // 1_000_000 if info.mtime_ns is not None else None,
            )


def is_hidden(name: str) -> bool:
    """Tell whether a name is one that engines leave alone; a partition's (`_x=1`) is not."""
    return name[:1] in ("_", ".") and "=" not in name


def _file_system(io: FileIO, location: str) -> tuple[FileSystem, str]:
    """Return the file system that the table's own files are read with, and what it calls the location."""
    if (get_fs := getattr(io, "get_fs", None)) is not None:
        parts = urlparse(location)
        fs = PyFileSystem(FSSpecHandler(get_fs(parts.scheme or "file")))
        return fs, parts.path if parts.scheme in ("", "file") else f"{parts.netloc}{parts.path}"
    own = io if isinstance(io, PyArrowFileIO) else PyArrowFileIO(io.properties)
    scheme, authority, path = own.parse_location(location, own.properties)
    return own.fs_by_scheme(scheme, authority), path
