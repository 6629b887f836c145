"""What the tests of upkeep share: old files, and every snapshot as it reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.table import Table

from tests.faults.bank import Bank
from tests.faults.files import local_path

LONG_AGO_S = 1_000_000_000


def home(bank: Bank) -> Path:
    """Return the folder of the table."""
    return local_path(bank.table().location())


def files(bank: Bank) -> set[Path]:
    """Return every file below the table's folder."""
    return {path for path in home(bank).rglob("*") if path.is_file()}


def age(*paths: Path) -> None:
    """Make files look old."""
    for path in paths:
        os.utime(path, (LONG_AGO_S, LONG_AGO_S))


def litter(folder: Path, *names: str) -> list[Path]:
    """Leave old files, as writers do that died long ago."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in names]
    for path in paths:
        path.write_bytes(b"litter")
    age(*paths)
    return paths


def readings(table: Table) -> dict[int, list[dict[str, Any]]]:
    """Read every snapshot that the table retains."""
    return {
        snapshot.snapshot_id: ordered(table.scan(snapshot_id=snapshot.snapshot_id).to_arrow())
        for snapshot in table.metadata.snapshots
    }


def ordered(rows: pa.Table) -> list[dict[str, Any]]:
    """Return rows in an order that does not depend on the files that they lie in."""
    return sorted(rows.to_pylist(), key=repr)
