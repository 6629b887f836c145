"""What a computation wants to write: a value, bound to nothing but the rows it holds."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Replace the rows whose `key` is among those of `rows` by `rows`; keys that no row has yet are inserted.

    `rows` holds every column of the table, and each key once.
    """

    rows: pa.Table
    key: str


@dataclass(frozen=True, slots=True)
class Append:
    """Add `rows`, which hold every column of the table."""

    rows: pa.Table


@dataclass(frozen=True, slots=True)
class NoChange:
    """Write no rows; operation ids, if there are any, land all the same, so that the operation counts as done."""


Change = Rewrite | Append | NoChange
