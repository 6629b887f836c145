"""Where a file is, whatever way its location is spelled: `file:/x`, `file:///x` and `/x` are one place."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import unquote

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)  # One letter would be a Windows drive.
_SAME: Final = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs", "wasbs": "wasb"}


@dataclass(frozen=True, slots=True)
class Place:
    """A location, taken apart."""

    scheme: str
    authority: str  # the bucket, the host; empty for local files
    path: str

    @classmethod
    def of(cls, location: str) -> Place:
        """Return the place of a location; a folder's comes without a slash at its end."""
        match = _SCHEME.fullmatch(location)
        scheme, rest = match.groups() if match else ("file", location)
        scheme = _SAME.get(scheme.lower(), scheme.lower())
        authority, path = "", rest
        if rest.startswith("//"):
            authority, _, path = rest[2:].partition("/")
            path = f"/{path}"
        if scheme == "file":
            return cls(scheme, "" if authority == "localhost" else authority, _local(path))
        return cls(scheme, authority, re.sub("/+", "/", path).rstrip("/"))

    def below(self, relative: str) -> Place:
        """Return the place of a file below this folder."""
        return Place(self.scheme, self.authority, f"{self.path}/{relative.lstrip('/')}")

    def contains(self, other: Place) -> bool:
        """Tell whether the other place is this one, or lies below it."""
        return self.prefix == other.prefix and f"{other.path}/".startswith(f"{self.path}/")

    @property
    def prefix(self) -> str:
        """What two places must share to be in one file system."""
        return f"{self.scheme}://{self.authority}"

    def __str__(self) -> str:
        return f"{self.prefix}{self.path}"


def places(location: str) -> Iterator[Place]:
    """Yield every place that a location may mean.

    Engines do not agree on whether `%20`, `?` and `#` stand for themselves; to take one file too many for a live one
    does no harm.
    """
    yield Place.of(location)
    if "%" in location:
        yield Place.of(unquote(location))
    for mark in "?#":
        if mark in location:
            yield Place.of(location.partition(mark)[0])


def _local(path: str) -> str:
    """Follow the links in the path of the folder, but not the file's own."""
    folder, name = posixpath.split(path.rstrip("/") or "/")
    return posixpath.join(_real(folder), name)


@lru_cache(maxsize=4096)
def _real(folder: str) -> str:
    return Path(folder).resolve().as_posix()
