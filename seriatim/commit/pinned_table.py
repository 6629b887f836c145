"""The table that `pinned` hands out: PyIceberg's, but for how often it copies what it knows of itself."""

from __future__ import annotations

from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableUpdate

from seriatim.commit.carried import whole


class PinnedTable(Table):
    """A table whose transactions remember what they come to."""

    @classmethod
    def like(cls, table: Table) -> PinnedTable:
        """Return the same table, with the same catalog."""
        return cls(table.name(), whole(table.metadata), table.metadata_location, table.io, table.catalog)

    def transaction(self) -> Transaction:
        """Begin a transaction."""
        return _Remembering(self)


class _Remembering(Transaction):
    """Applies what is staged when that has changed.

    PyIceberg does so at every look, some fifty times for an overwrite, and copies the whole history each time.
    """

    _known: tuple[TableMetadata, tuple[TableUpdate, ...], TableMetadata] | None = None  # base, staged, and the result

    @property
    def table_metadata(self) -> TableMetadata:
        """The table with what is staged."""
        known = self._known
        if known is None or known[0] is not self._table.metadata or known[1] is not self._updates:
            known = self._known = (self._table.metadata, self._updates, super().table_metadata)
        return known[2]
