"""A table's name."""

from __future__ import annotations

from pyiceberg.typedef import Identifier


def names(identifier: str | Identifier) -> tuple[str, ...]:
    """Return the parts of a table's name."""
    return tuple(identifier.split(".")) if isinstance(identifier, str) else tuple(identifier)
