"""Where one soak keeps its catalog, its table and what its processes write down."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlparse

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from soak.changes import SCHEMA, TABLE
from soak.task import ACCOUNTS, OPENING_BALANCE

SNAPSHOTS_KEPT: Final = 200  # More than are made between two looks of the observer.


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of a soak; the catalog is a SQLite file in it."""

    folder: Path

    def catalog(self) -> SqlCatalog:
        """Return a new catalog object."""
        return SqlCatalog(
            "soak",
            uri=f"sqlite:///{self.folder / 'catalog.db'}?timeout=60",
            warehouse=f"file://{self.folder}/warehouse",
        )

    def create(self) -> None:
        """Make the table, with its accounts."""
        (self.folder / "logs").mkdir(parents=True)
        catalog = self.catalog()
        catalog.create_namespace("soak")
        properties = {
            "history.expire.min-snapshots-to-keep": str(SNAPSHOTS_KEPT),
            "history.expire.max-snapshot-age-ms": "0",
            "write.metadata.previous-versions-max": "20",
            "write.metadata.delete-after-commit.enabled": "true",
        }
        table = catalog.create_table(TABLE, SCHEMA, properties=properties)
        ids = pa.array(range(1, ACCOUNTS + 1), pa.int64())
        table.append(pa.Table.from_arrays([ids, pa.array([OPENING_BALANCE] * ACCOUNTS)], schema=SCHEMA.as_arrow()))
        catalog.engine.dispose()

    def log(self, name: str) -> Log:
        """Return the log of one process, which others of the same name have written before it."""
        return Log(self.folder / "logs" / f"{name}.jsonl")


@dataclass(frozen=True, slots=True)
class Log:
    """Lines of JSON, each written at once, so that a process that is killed leaves at most half a line."""

    path: Path

    def write(self, entry: Mapping[str, Any]) -> None:
        """Add an entry."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def read(self) -> Iterator[dict[str, Any]]:
        """Yield the entries; what was cut off by a kill is left out."""
        if not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue


def local(location: str) -> Path:
    """Return the path of a `file:` location."""
    return Path(unquote(urlparse(location).path))
