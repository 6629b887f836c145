"""A Delta table that is written by hand, and the model of what its versions hold.

Whatever a Delta writer may do to files is one method; deltalake writes no deletion vectors and re-adds no file at will.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from tests.mirror.delta_logs import METADATA, Action, add, info, log_folder, remove, write_commit, write_parquet

NO_ROWS: Final[frozenset[int]] = frozenset()
_FEATURES = ["deletionVectors"]
_PROTOCOL: Final[Action] = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": _FEATURES,
        "writerFeatures": _FEATURES,
    }
}
_MAGIC: Final = (1681511377).to_bytes(4, "little")
_OF_PYTHON: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_OF_ZEROMQ: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

Live = Mapping[str, frozenset[int]]  # by path: which rows of the file are deleted, counted from 0


@dataclass(slots=True)
class HandTable:
    """One table with the column `id`; version 0 makes it, empty. `states` is what each version consists of."""

    path: Path
    table_id: str = "a-table"
    files: dict[str, list[int]] = field(default_factory=dict)  # the ids in each file that was ever written
    states: list[Live] = field(default_factory=list)
    delay_ms: int = 0  # of what is written from now on, by the clock of the writer
    _next_id: int = 1

    def __post_init__(self) -> None:
        body = {**METADATA["metaData"], "id": self.table_id}
        self._commit({}, _PROTOCOL, {"metaData": body}, operation="CREATE TABLE")

    @property
    def uri(self) -> str:
        """Where it is."""
        return str(self.path)

    @property
    def version(self) -> int:
        """The newest version."""
        return len(self.states) - 1

    @property
    def live(self) -> dict[str, frozenset[int]]:
        """What the newest version consists of."""
        return dict(self.states[-1]) if self.states else {}

    def ids(self, version: int) -> list[int]:
        """Return the ids of the rows of a version, in order."""
        live = self.states[version].items()
        return sorted(id_ for path, gone in live for at, id_ in enumerate(self.files[path]) if at not in gone)

    def append(self, rows: int = 3) -> str:
        """Add a file with new rows, and return its path."""
        path = self._write(self._new_ids(rows))
        self._commit({**self.live, path: NO_ROWS}, self._add(path), operation="WRITE")
        return path

    def appends(self, versions: int) -> None:
        """Add as many files, each in a version of its own."""
        for _ in range(versions):
            self.append()

    def delete(self, path: str, *positions: int) -> None:
        """Let the file have exactly these rows deleted; none: it has no deletion vector any more."""
        self.change({**self.live, path: frozenset(positions)}, operation="DELETE")

    def drop(self, path: str) -> None:
        """Remove a file."""
        self.change({other: gone for other, gone in self.live.items() if other != path}, operation="DELETE")

    def remove_what_is_not_there(self, path: str, *positions: int) -> None:
        """Remove a file with another deletion vector than it has, which is another file to Delta: nothing changes."""
        self._commit(self.live, self._remove(path, positions, data_change=True), operation="DELETE")

    def overwrite(self, rows: int = 2) -> str:
        """Put a new file in the place of all."""
        path = self._write(self._new_ids(rows))
        self.change({path: NO_ROWS}, operation="WRITE")
        return path

    def rewrite(self, paths: Sequence[str], operation: str = "OPTIMIZE") -> str:
        """Write the rows that are left of these files to a new one: no row changes."""
        live = self.live
        ids = [id_ for path in paths for at, id_ in enumerate(self.files[path]) if at not in live[path]]
        kept = {path: gone for path, gone in live.items() if path not in paths}
        path = self._write(ids)
        self.change({**kept, path: NO_ROWS}, operation=operation, data_change=False)
        return path

    def restore(self, version: int) -> None:
        """Make the table what it was."""
        self.change(self.states[version], operation="RESTORE")

    def compute_stats(self) -> None:
        """Add every file again, as it is: no row changes."""
        adds = [self._add(path, gone, data_change=False) for path, gone in self.live.items()]
        self._commit(self.live, *adds, operation="COMPUTE STATS")

    def touch(self) -> None:
        """Make a version that changes nothing."""
        self._commit(self.live, operation="VACUUM END")

    def change(self, live: Live, operation: str, *, data_change: bool = True) -> None:
        """Make the table consist of that, by whatever actions it takes."""
        before = self.live
        gone = [path for path in before if live.get(path) != before[path]]
        new = [path for path in live if before.get(path) != live[path]]
        self._commit(
            live,
            *[self._remove(path, before[path], data_change=data_change) for path in gone],
            *[self._add(path, live[path], data_change=data_change) for path in new],
            operation=operation,
        )

    def commit_file(self, version: int) -> Path:
        """Return the file of a version in the log."""
        return log_folder(self.path) / f"{version:020d}.json"

    def cut_log(self, before: int) -> None:
        """Clean the log up: what came before a version is gone, and a checkpoint has what it was."""
        checkpoint = log_folder(self.path) / f"{before:020d}.checkpoint.parquet"
        write_parquet(checkpoint, *self._state_actions(before))
        for version in range(before):
            self.commit_file(version).unlink(missing_ok=True)

    def _state_actions(self, version: int) -> list[Action]:
        body = {**METADATA["metaData"], "id": self.table_id}
        return [
            _PROTOCOL,
            {"metaData": body},
            *[self._add(path, gone, data_change=False) for path, gone in self.states[version].items()],
        ]

    def _new_ids(self, rows: int) -> list[int]:
        first = self._next_id
        self._next_id += rows
        return list(range(first, first + rows))

    def _write(self, ids: list[int]) -> str:
        name = f"{len(self.files):05d}.parquet"
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), self.path / name)
        self.files[name] = ids
        return name

    def _add(self, path: str, gone: Iterable[int] = (), *, data_change: bool = True) -> Action:
        ids = self.files[path]
        stats: dict[str, Any] = {"numRecords": len(ids), "tightBounds": not gone, "nullCount": {"id": 0}}
        if ids:
            stats |= {"minValues": {"id": min(ids)}, "maxValues": {"id": max(ids)}}
        size = (self.path / path).stat().st_size
        return add(path, size=size, stats=json.dumps(stats), dataChange=data_change, **_vector(gone))

    def _remove(self, path: str, gone: Iterable[int], *, data_change: bool) -> Action:
        return remove(path, dataChange=data_change, deletionTimestamp=1, **_vector(gone))

    def _commit(self, live: Live, *actions: Action, operation: str) -> None:
        version = len(self.states)
        write_commit(
            self.path, version, info(operation=operation, timestamp=1_000 * (version + 1) + self.delay_ms), *actions
        )
        self.states.append(dict(live))


def _vector(gone: Iterable[int]) -> Mapping[str, Any]:
    """Return an inline deletion vector as a field of an action; no rows: none."""
    rows = sorted(gone)
    if not rows:
        return {}
    data = _MAGIC + bytes(BitMap64(rows).serialize())
    text = base64.b85encode(data + bytes(-len(data) % 4)).decode().translate(str.maketrans(_OF_PYTHON, _OF_ZEROMQ))
    body = {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": len(rows)}
    return {"deletionVector": body}
