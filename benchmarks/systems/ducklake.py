"""DuckLake: `UPDATE` on a connection that is kept, with a catalog in SQLite, as the others here have."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from benchmarks.systems.port import Session, Spent

_EXTENSIONS: Final = ("sqlite_scanner", "ducklake")


@dataclass(frozen=True, slots=True)
class DuckLake:
    """A DuckLake of one row."""

    name: str = "DuckLake"
    requires: tuple[str, ...] = tuple(f"duckdb_extension_{name}" for name in _EXTENSIONS)

    @property
    def conflicts(self) -> tuple[type[Exception], ...]:
        """What a lost race raises: a TransactionException, and of a busy SQLite any of them."""
        return (duckdb.Error,)

    def create(self, folder: Path) -> None:
        """Make the table."""
        lake = _attached(folder)
        lake.execute("CREATE TABLE lake.account (id BIGINT, bal BIGINT)")
        lake.execute("INSERT INTO lake.account VALUES (1, 0)")
        lake.close()

    def session(self, folder: Path, worker: int = 0) -> Session:
        """Attach the catalog; each statement is a transaction, which reads the catalog anew."""
        del worker
        return _DuckLakeSession(folder)

    def orphans(self, folder: Path, commits: int) -> int | None:
        """Not counted: small changes are kept in the catalog, and some in delete files."""
        del folder, commits
        return None


class _DuckLakeSession:
    def __init__(self, folder: Path) -> None:
        self._lake = _attached(folder)

    def increment(self) -> Spent:
        self._lake.execute("UPDATE lake.account SET bal = bal + 1 WHERE id = 1")
        return Spent()

    def read(self) -> int:
        found = self._lake.execute("SELECT sum(bal) FROM lake.account").fetchone()
        assert found is not None
        return int(found[0])

    def close(self) -> None:
        self._lake.close()


def _attached(folder: Path) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB with the extensions that are installed as packages; nothing is fetched."""
    connection = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
    connection.execute("SET enable_progress_bar = false")
    for name in _EXTENSIONS:
        package = importlib.import_module(f"duckdb_extension_{name}")
        (extension,) = Path(str(package.__file__)).parent.rglob("*.duckdb_extension")
        connection.execute(f"LOAD '{extension}'")
    options = f"DATA_PATH '{folder}/files', META_JOURNAL_MODE 'WAL', META_BUSY_TIMEOUT 60000"
    connection.execute(f"ATTACH 'ducklake:sqlite:{folder}/lake.sqlite' AS lake ({options})")
    return connection
