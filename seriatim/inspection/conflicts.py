"""The conflicts that were met on a table, from the table that keeps them."""

from __future__ import annotations

from typing import Final

import pyarrow.compute as pc
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import EqualTo
from pyiceberg.typedef import Identifier

from seriatim.conflict_events import ConflictEvent
from seriatim.conflict_rows import SCHEMA, conflicts_of_rows
from seriatim.errors import ConflictTableError

CONFLICT_TABLE: Final = "bank.conflicts"


def recorded_conflicts(
    catalog: Catalog,
    identifier: str | Identifier,
    *,
    source: str | Identifier = CONFLICT_TABLE,
    limit: int | None = None,  # None: all of them
) -> list[ConflictEvent]:
    """Return the conflicts on the table that `source` keeps, newest first.

    Raises:
        ConflictTableError: `source` is a table of something else.
        NoSuchTableError: there is no `source`; or no conflicts, and no such table either.
    """
    name, kept_in = _name(identifier), catalog.load_table(source)
    columns = [field.name for field in SCHEMA.fields]
    if missing := sorted(set(columns) - set(kept_in.schema().column_names)):
        raise ConflictTableError(_name(source), missing=missing)
    rows = kept_in.scan(row_filter=EqualTo("table", name), selected_fields=tuple(columns)).to_arrow()
    if rows.num_rows == 0:
        catalog.load_table(identifier)  # A name that is misspelt has no conflicts, either.
    order = pc.sort_indices(rows, [("occurred_at", "descending"), ("event_id", "ascending")])
    return list(conflicts_of_rows(rows.take(order[:limit])))


def _name(identifier: str | Identifier) -> str:
    return identifier if isinstance(identifier, str) else ".".join(identifier)
