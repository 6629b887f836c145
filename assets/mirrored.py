"""How far the transactions have been mirrored."""

from __future__ import annotations

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from assets.transactions_table import TRANSACTIONS_TABLE
from seriatim.mirror import delta_version_of


def mirrored(catalog: Catalog) -> tuple[Table, int] | None:
    """Return the mirror and the Delta version that it is at; None: nothing has been mirrored yet."""
    try:
        table = catalog.load_table(TRANSACTIONS_TABLE)
    except NoSuchTableError:
        return None
    version = delta_version_of(table)
    return None if version is None else (table, version)
