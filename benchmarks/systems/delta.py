"""delta-rs: `update`, on a handle that is opened anew each time, or kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from benchmarks.systems.port import Session, Spent


@dataclass(frozen=True, slots=True)
class DeltaRs:
    """A Delta table of one row."""

    name: str = "delta-rs, opened anew"
    is_handle_kept: bool = False
    requires: tuple[str, ...] = ("deltalake",)

    @property
    def conflicts(self) -> tuple[type[Exception], ...]:
        """What a lost race raises."""
        return (CommitFailedError,)

    def create(self, folder: Path) -> None:
        """Make the table."""
        rows = pa.table({"id": pa.array([1], pa.int64()), "bal": pa.array([0], pa.int64())})
        write_deltalake(str(folder / "delta"), rows)

    def session(self, folder: Path, worker: int = 0) -> Session:
        """Open the table."""
        del worker
        return _DeltaSession(folder / "delta", is_handle_kept=self.is_handle_kept)

    def orphans(self, folder: Path, commits: int) -> int | None:
        """Count the data files that no commit has written."""
        return sum(1 for _ in (folder / "delta").glob("*.parquet")) - (1 + commits)


class _DeltaSession:
    def __init__(self, path: Path, *, is_handle_kept: bool) -> None:
        self._path, self._kept = str(path), DeltaTable(str(path)) if is_handle_kept else None

    def increment(self) -> Spent:
        table = self._kept or DeltaTable(self._path)
        table.update(updates={"bal": "bal + 1"}, predicate="id = 1")
        return Spent()

    def read(self) -> int:
        (balance,) = DeltaTable(self._path).to_pyarrow_table()["bal"].to_pylist()
        return int(balance)

    def close(self) -> None:
        self._kept = None
