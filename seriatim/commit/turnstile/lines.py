"""Who is in one line: all who write the table of one name in one catalog."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from pyiceberg.catalog import Catalog


def line_of(catalog: object, identifier: str | Sequence[str]) -> str | None:
    """Return the name of the table's line, the same in every process; None: a double, of which nothing is known.

    Two tables that share a line by mistake only wait for each other.
    """
    if not isinstance(catalog, Catalog):
        return None
    names = identifier.split(".") if isinstance(identifier, str) else list(identifier)
    known = repr((catalog.name, _address(catalog.properties.get("uri", "")), names))
    return hashlib.sha256(known.encode()).hexdigest()[:32]


def _address(uri: object) -> str:
    """Return an address without credentials and options; a catalog in memory is its process's alone."""
    scheme, _, rest = str(uri).partition("?")[0].partition("://")
    host, slash, path = rest.partition("/")
    own = str(os.getpid()) if ":memory:" in path else ""
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}{own}"
