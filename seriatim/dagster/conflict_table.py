"""The Iceberg table that keeps every conflict once, made when it is needed."""

from __future__ import annotations

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from seriatim.conflict_rows import SCHEMA
from seriatim.dagster.first_use import ensure_table


def ensure_conflict_table(catalog: Catalog, identifier: tuple[str, ...]) -> Table:
    """Return the conflicts table, made if it is not there, also by several processes at once.

    Raises:
        CatalogBusyError: the catalog's database was locked for too long.
    """
    return ensure_table(catalog, identifier, SCHEMA)
