"""The floor: an Iceberg commit with nothing but what must be read and written, and no help but three libraries'.

It reads all anew each time, writes one Parquet file, one manifest (ADDED and DELETED), one manifest list and one
metadata file, and swaps the pointer in the catalog's table. It promises nothing: no look at a lost reply, no types but
this table's, no more than one data file. PyIceberg reads the table, which `read` makes sure of.
"""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.systems.iceberg import TABLE, create_table, local, open_catalog, orphans_of, total
from benchmarks.systems.port import Session, Spent
from seriatim.system import SystemClock, new_id, new_random

Record = dict[str, Any]  # As the specification has it.
_LIVE: Final = (0, 1)  # EXISTING, ADDED
_POINTER: Final = "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = 'bench' AND table_name = ?"
_SWAP: Final = (
    "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ? "
    "WHERE table_namespace = 'bench' AND table_name = ? AND metadata_location = ?"
)
_COUNTS: Final = {"added": 1, "existing": 0, "deleted": 1}
_METADATA_FILES_MAX: Final = 100  # Iceberg's default.


@dataclass(frozen=True, slots=True)
class Raw:
    """The floor, keeping so many snapshots."""

    name: str = "raw floor"
    snapshots_max: int | None = 20  # None: all
    requires: tuple[str, ...] = ("fastavro", "orjson")

    def create(self, folder: Path) -> None:
        """Make the table, by PyIceberg."""
        create_table(folder)

    def session(self, folder: Path, worker: int = 0) -> Session:
        """Open the catalog's database."""
        del worker
        return RawSession(folder, self.snapshots_max)

    def orphans(self, folder: Path, commits: int) -> int | None:
        """Count the data files that no commit has written."""
        return orphans_of(folder, 1 + commits)


class RawSession:
    """A connection, and the Avro schemas, which are the format's."""

    def __init__(self, folder: Path, snapshots_max: int | None, table: str = TABLE) -> None:
        self._folder, self._snapshots_max, self.table = folder, snapshots_max, table
        self._json, self._avro = importlib.import_module("orjson"), importlib.import_module("fastavro")
        self._db = sqlite3.connect(folder / "catalog.db", timeout=60, isolation_level=None)
        self._clock, self._chance = SystemClock(), new_random()
        head = _head(self._metadata(self._pointer()))
        self._list_form = self._form(head["manifest-list"])
        self._manifest_form = self._form(self._read(head["manifest-list"])[0]["manifest_path"])

    def increment(self) -> Spent:
        """Commit, again until it lands."""
        attempts = 1
        while not self._commit():
            attempts += 1
        return Spent(attempts, attempts)

    def read(self) -> int:
        """Return the sum of the balances, as PyIceberg has it."""
        catalog = open_catalog(self._folder)
        found = total(catalog.load_table(self.table))
        catalog.engine.dispose()
        return found

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def _commit(self) -> bool:
        pointer = self._pointer()
        metadata = self._metadata(pointer)
        listed = self._read(_head(metadata)["manifest-list"])
        live = [(each, entry) for each in listed for entry in self._read(each["manifest_path"]) if _is_live(entry)]
        ((manifest, old),) = live
        rows = pq.read_table(local(old["data_file"]["file_path"]))
        balance = rows["bal"][0].as_py() + 1
        snapshot_id, sequence = self._chance.getrandbits(62), metadata["last-sequence-number"] + 1
        entries = self._entries(metadata, snapshot_id, (manifest, old), rows, balance)
        path = f"{metadata['location']}/metadata/{new_id()}.avro"
        length = self._write(path, self._manifest_form, entries)
        counted = _listed(manifest, path, length, snapshot_id, sequence)
        list_path = f"{metadata['location']}/metadata/snap-{snapshot_id}.avro"
        self._write(list_path, self._list_form, [counted])
        changed = _advanced(
            metadata, pointer, snapshot_id, list_path, now_ms=self._clock.now_ms(), keep=self._snapshots_max
        )
        target = f"{metadata['location']}/metadata/{sequence:05}-{new_id()}.metadata.json"
        local(target).write_bytes(self._json.dumps(changed))
        swapped = self._db.execute(_SWAP, (target, pointer, self.table.partition(".")[2], pointer))
        return swapped.rowcount == 1

    def _entries(
        self, metadata: Record, snapshot_id: int, replaced: tuple[Record, Record], rows: pa.Table, balance: int
    ) -> list[Record]:
        """Write the data file, and return what the manifest says of it and of the one that it replaces."""
        manifest, old = replaced
        path = f"{metadata['location']}/data/{new_id()}.parquet"
        changed = rows.set_column(1, rows.schema.field("bal"), pa.array([balance], pa.int64()))
        pq.write_table(changed, local(path))
        bound = balance.to_bytes(8, "little", signed=True)
        bounds = {name: _with_bound(old["data_file"][name], bound) for name in ("lower_bounds", "upper_bounds")}
        file = {**old["data_file"], **bounds, "file_path": path, "file_size_in_bytes": local(path).stat().st_size}
        numbers = {
            name: manifest["sequence_number"] if old[name] is None else old[name]
            for name in ("sequence_number", "file_sequence_number")
        }
        added = {"status": 1, "snapshot_id": snapshot_id, "sequence_number": None, "file_sequence_number": None}
        removed = {"status": 2, "snapshot_id": snapshot_id, **numbers}
        return [{**added, "data_file": file}, {**removed, "data_file": old["data_file"]}]

    def _pointer(self) -> str:
        found = self._db.execute(_POINTER, (self.table.partition(".")[2],)).fetchone()
        return str(found[0])

    def _metadata(self, location: str) -> Record:
        metadata: Record = self._json.loads(local(location).read_bytes())
        return metadata

    def _read(self, location: str) -> list[Record]:
        with local(location).open("rb") as file:
            return list(self._avro.reader(file))

    def _form(self, location: str) -> tuple[Any, Mapping[str, str]]:
        """Return the parsed schema of an Avro file, and what its header says of the table."""
        with local(location).open("rb") as file:
            reader = self._avro.reader(file)
            header = {name: value for name, value in reader.metadata.items() if not name.startswith("avro.")}
            return self._avro.parse_schema(reader.writer_schema), header

    def _write(self, location: str, form: tuple[Any, Mapping[str, str]], records: Iterable[Record]) -> int:
        schema, header = form
        with local(location).open("wb") as file:
            self._avro.writer(file, schema, records, metadata=header)
            return file.tell()


def _head(metadata: Record) -> Record:
    (head,) = (each for each in metadata["snapshots"] if each["snapshot-id"] == metadata["current-snapshot-id"])
    return dict(head)


def _is_live(entry: Record) -> bool:
    return entry["status"] in _LIVE


def _with_bound(bounds: Sequence[Record], balance: bytes) -> list[Record]:
    return [{**each, "value": balance} if each["key"] == 2 else each for each in bounds]  # `bal`


def _listed(manifest: Record, path: str, length: int, snapshot_id: int, sequence: int) -> Record:
    return {
        **manifest,
        "manifest_path": path,
        "manifest_length": length,
        "added_snapshot_id": snapshot_id,
        "sequence_number": sequence,
        "min_sequence_number": sequence,
        **{f"{status}_{what}_count": count for status, count in _COUNTS.items() for what in ("files", "rows")},
    }


def _advanced(
    metadata: Record, pointer: str, snapshot_id: int, manifest_list: str, *, now_ms: int, keep: int | None
) -> Record:
    """Return the metadata with one snapshot more, and no more than are to be kept."""
    snapshot = {
        "snapshot-id": snapshot_id,
        "parent-snapshot-id": metadata["current-snapshot-id"],
        "sequence-number": metadata["last-sequence-number"] + 1,
        "timestamp-ms": now_ms,
        "manifest-list": manifest_list,
        "summary": {"operation": "overwrite", "total-records": "1", "total-data-files": "1"},
        "schema-id": metadata["current-schema-id"],
    }
    kept = slice(-keep if keep else None, None)
    logged = {"metadata-file": pointer, "timestamp-ms": metadata["last-updated-ms"]}
    return {
        **metadata,
        "last-updated-ms": now_ms,
        "last-sequence-number": snapshot["sequence-number"],
        "current-snapshot-id": snapshot_id,
        "snapshots": [*metadata["snapshots"], snapshot][kept],
        "snapshot-log": [*metadata["snapshot-log"], {"snapshot-id": snapshot_id, "timestamp-ms": now_ms}][kept],
        "metadata-log": [*metadata["metadata-log"], logged][-_METADATA_FILES_MAX:],
        "refs": {"main": {"snapshot-id": snapshot_id, "type": "branch"}},
    }
