"""One commit from one point of a table's history, again and again: each time on a table registered from that point."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from benchmarks.benchmark import require
from benchmarks.systems.iceberg import TABLE, open_catalog
from benchmarks.systems.port import Spent
from seriatim.system import new_id


class Movable(Protocol):
    """A session that can be told which table it is to work on."""

    table: str

    def increment(self) -> Spent:
        """Read the counter anew, and commit one more."""
        ...

    def read(self) -> int:
        """Return the counter."""
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...


class Restarts:
    """Makes the commit that follows on the metadata file `location`, where the counter is at `balance`."""

    def __init__(self, folder: Path, location: str, session: Movable, balance: int) -> None:
        self._catalog, self._location = open_catalog(folder), location
        self._session, self._balance = session, balance

    def restart(self) -> None:
        """Register the table anew."""
        self._session.table = f"bench.again_{new_id()}"
        self._catalog.register_table(self._session.table, self._location)

    def increment(self) -> None:
        """Make the commit."""
        self._session.increment()

    def finish(self) -> None:
        """Make sure that the last one did what it was to do, and close."""
        require(type(self._session).__name__, self._session.read(), self._balance + 1)
        self._session.close()
        self._catalog.engine.dispose()


def head_of(folder: Path, table: str = TABLE) -> str:
    """Return the metadata file of the table as it is now."""
    catalog = open_catalog(folder)
    location = catalog.load_table(table).metadata_location
    catalog.engine.dispose()
    return location
