"""How much an audit may hold in memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds; what lies beyond them is reported as not judged."""

    rows_max: int = 2_000_000  # in the files that differ from one commit to the next
    keys_max: int = 1_000_000  # of a table whose key is declared unique
