"""What a computation wants to write: values, bound to nothing but the rows they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.expressions import BooleanExpression


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Replace rows by `rows`: those that match `where`, or those that have the same `keys` as one of `rows`.

    Give one of the two. By keys, each key of `rows` must be there exactly once in `rows` and at least once in the
    table; `Upsert` is for keys that may be new. `where` matches what `base.read` gives for it. `rows` holds every
    column of the table.
    """

    rows: pa.Table
    keys: str | Sequence[str] = ()
    where: BooleanExpression | str | None = None


@dataclass(frozen=True, slots=True)
class Upsert:
    """Replace the rows that have the same `keys` as one of `rows`, and insert the others of `rows`.

    `rows` holds every column of the table, and each key once.
    """

    rows: pa.Table
    keys: str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Append:
    """Add `rows`, which hold every column of the table."""

    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove the rows that match `where`, or those whose key columns equal a row of `keys`. Give one of the two.

    `where` matches what `base.read` gives for it. `keys` is a table of the key columns alone; a key that no row has is
    no error.
    """

    where: BooleanExpression | str | None = None
    keys: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class NoChange:
    """Write no rows; operation ids, if there are any, land all the same, so that the operation counts as done."""


Edit = Rewrite | Upsert | Append | Delete
Edits = Edit | NoChange | Sequence[Edit]


@dataclass(frozen=True, slots=True)
class Declared:
    """Edits, with what the change says of them for the record.

    `sums` holds, for columns of numbers, by how much the change moves the column's total: whole numbers, in the unit of
    the column. The commit's summary keeps them, so that whoever audits the table can compare.
    """

    edits: Edits
    sums: Mapping[str, int]


Change = Edits | Declared
"""One edit, or several that land as one commit: each is applied to what the ones before it left."""
