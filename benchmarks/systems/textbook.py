"""PyIceberg alone, as its documentation has it: load, scan, `overwrite` by a filter."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyiceberg.expressions import EqualTo

from benchmarks.systems.iceberg import TABLE, create_table, open_catalog, orphans_of, rows_of, total
from benchmarks.systems.port import Session, Spent


@dataclass(frozen=True, slots=True)
class Textbook:
    """PyIceberg's `overwrite`; alone, since overlapping ones need more than it has."""

    name: str = "PyIceberg overwrite"
    requires: tuple[str, ...] = ()

    def create(self, folder: Path) -> None:
        """Make the table."""
        create_table(folder)

    def session(self, folder: Path, worker: int = 0) -> Session:
        """Open the catalog; each increment loads the table anew."""
        del worker
        return TextbookSession(folder)

    def orphans(self, folder: Path, commits: int) -> int | None:
        """Count the data files that no commit has written."""
        return orphans_of(folder, 1 + commits)


class TextbookSession:
    """A catalog that is open, and overwrites of a table of it."""

    def __init__(self, folder: Path, table: str = TABLE) -> None:
        self._catalog, self.table = open_catalog(folder), table

    def increment(self) -> Spent:
        """Load, scan, overwrite."""
        table, only = self._catalog.load_table(self.table), EqualTo("id", 1)
        (balance,) = table.scan(row_filter=only).to_arrow()["bal"].to_pylist()
        table.overwrite(rows_of({1: balance + 1}), overwrite_filter=only)
        return Spent()

    def read(self) -> int:
        """Return the sum of the balances."""
        return total(self._catalog.load_table(self.table))

    def close(self) -> None:
        """Close the connections."""
        self._catalog.engine.dispose()
