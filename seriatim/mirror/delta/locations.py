"""Where a Delta table and its files are.

A local table is known by a plain absolute path (`/data/my table`), never by a `file:` URI: readers of Iceberg tables
take such a path as it stands, and would cut a URI at `#` or `?`. Other stores keep their scheme
(`s3://bucket/my table`). Both are decoded: what is written into table metadata is the name that the store knows.
"""

from __future__ import annotations

import os
import re
from urllib.parse import quote, unquote

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # Two letters or more: `c:/data` is a drive.


def is_local(location: str) -> bool:
    """Tell whether the file system of this machine holds it."""
    return _SCHEME.match(location) is None


def root_location(uri: str) -> str:
    """Return the absolute location of the table at `uri`: a path, taken as it is, or a URI, decoded once.

    Raises:
        ValueError: it is a URI that says more than a location.
    """
    if _SCHEME.match(uri) is None:
        return os.path.abspath(uri)  # noqa: PTH100 (pathlib leaves `..` in, which other readers resolve)
    if "#" in uri or "?" in uri:
        raise ValueError("in a URI, # is written %23 and ? is written %3F")
    return _decoded(uri).rstrip("/")


def file_location(path: str, root: str) -> str:
    """Return where the file is that an action calls `path`: a URI, relative to the root or absolute.

    Raises:
        ValueError: its escapes do not spell UTF-8.
    """
    if _SCHEME.match(path):
        return _decoded(path)
    decoded = unquote(path, errors="strict") if "%" in path else path
    if not decoded.startswith("/"):
        return f"{root}/{decoded}"
    return decoded if is_local(root) else f"{_store(root)}{decoded}"


def as_uri(location: str) -> str:
    """Return the URI of a location that is not local."""
    return quote(location, safe="/:@!$&'()*+,;=")


def _decoded(uri: str) -> str:
    """Return a URI's location: without `file://` and its host, and without escapes."""
    decoded = unquote(uri, errors="strict")
    scheme, _, rest = decoded.partition(":")
    if scheme.lower() != "file":
        return decoded
    return "/" + rest.removeprefix("//").partition("/")[2] if rest.startswith("//") else rest


def _store(root: str) -> str:
    """Return the scheme and the authority of a root that is not local."""
    scheme, _, rest = root.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"
