"""The ledger file: everything that was applied before, in one immutable Puffin file.

Puffin is Iceberg's format for what belongs to a table and is neither data nor metadata. A file that is registered as a
snapshot's statistics is the one kind of extra file that the orphan removal of other engines spares. This one has one
blob, a Parquet table of the operation ids; the rest stands in the blob's properties.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io import FileIO

from seriatim.commit.ledger_words import Entry, FileReference
from seriatim.commit.partitions import PartitionSet
from seriatim.commit.streams import Watermark

BLOB_TYPE: Final = "seriatim-ledger-v1"
_MAGIC: Final = b"PFA1"
_FLAGS: Final = bytes(4)  # The footer is not compressed.
_SCHEMA: Final = pa.schema(
    [("operation_id", pa.string()), ("snapshot_id", pa.int64()), ("applied_at_ms", pa.int64())],
)
_CACHED_MAX: Final = 8


class DamagedLedgerError(Exception):
    """Private: the bytes are no ledger file that this version can read."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a ledger file says."""

    ids: pa.Table = field(default_factory=_SCHEMA.empty_table)
    partitions: PartitionSet = field(default_factory=PartitionSet)
    watermarks: Mapping[str, Watermark] = field(default_factory=dict)
    forgotten_until_ms: int | None = None  # ids applied before this may be missing; None: none was dropped yet

    def find(self, names: Collection[str]) -> dict[str, int | None]:
        """Return which of the operations were applied, each with its snapshot."""
        wanted = pa.array(names, pa.string())
        places = pc.index_in(wanted, value_set=self.ids["operation_id"])
        known = self.ids["snapshot_id"].take(places)  # A place that is null takes null.
        return {name: known[number].as_py() for number, name in enumerate(names) if places[number].is_valid}

    def with_entries(self, entries: Sequence[Entry], watermarks: Mapping[str, Watermark]) -> Contents:
        """Return the contents with what later commits applied."""
        rows = [(id_, entry.snapshot_id, entry.at_ms) for entry in entries for id_ in entry.ids]
        columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
        added = pa.table([pa.array(column, one.type) for column, one in zip(columns, _SCHEMA, strict=True)], _SCHEMA)
        partitions = self.partitions
        if any(entry.partitions for entry in entries):
            partitions = partitions.with_keys(_by_asset(entries))
        marks = {**self.watermarks, **watermarks}
        return Contents(pa.concat_tables([self.ids, added]), partitions, marks, self.forgotten_until_ms)

    def without_older(self, oldest_ms: int) -> Contents:
        """Return the contents without the ids that were applied before that time, remembering that it forgot some."""
        is_old = pc.less(self.ids["applied_at_ms"], oldest_ms)
        old = self.ids.filter(is_old)
        if old.num_rows == 0:
            return self
        newest_dropped_ms = pc.max(old["applied_at_ms"]).as_py()
        forgotten_until_ms = max(newest_dropped_ms + 1, self.forgotten_until_ms or 0)
        return Contents(self.ids.filter(pc.invert(is_old)), self.partitions, self.watermarks, forgotten_until_ms)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A ledger file that is not written yet."""

    content: bytes
    footer_size: int

    @classmethod
    def of(cls, contents: Contents, snapshot_id: int | None, sequence_number: int) -> Encoded:
        """Return the file of the contents, which were computed from that snapshot (None: of an empty table)."""
        sink = pa.BufferOutputStream()
        pq.write_table(contents.ids, sink, compression="zstd")
        blob = sink.getvalue().to_pybytes()
        marks = {name: [mark.upto, mark.snapshot_id] for name, mark in contents.watermarks.items()}
        described = {
            "type": BLOB_TYPE,
            "fields": [],
            "snapshot-id": -1 if snapshot_id is None else snapshot_id,
            "sequence-number": sequence_number,
            "offset": len(_MAGIC),
            "length": len(blob),
            "properties": {
                "forgotten-until-ms": json.dumps(contents.forgotten_until_ms),
                "partitions": json.dumps(contents.partitions.to_json(), separators=(",", ":")),
                "watermarks": json.dumps(marks, separators=(",", ":")),
            },
        }
        payload = json.dumps({"blobs": [described], "properties": {"created-by": "seriatim"}}).encode()
        footer = _MAGIC + payload + len(payload).to_bytes(4, "little") + _FLAGS + _MAGIC
        return cls(_MAGIC + blob + footer, len(footer))

    def reference(self, location: str) -> FileReference:
        """Return how a commit refers to the file, once it is at that location."""
        return FileReference(location, len(self.content), self.footer_size)

    def write(self, io: FileIO, location: str) -> None:
        """Write the file, which must not be there yet."""
        with io.new_output(location).create() as stream:
            stream.write(self.content)


def decoded(content: bytes) -> Contents:
    """Return what the bytes of a ledger file say.

    Raises:
        DamagedLedgerError: they are not the bytes of one, or of a newer format.
    """
    try:
        blob, properties = _blob(content)
        ids = pq.read_table(pa.BufferReader(blob)).cast(_SCHEMA)
        marks = json.loads(properties["watermarks"])
        return Contents(
            ids,
            PartitionSet.of_json(json.loads(properties["partitions"])),
            {name: Watermark(upto, snapshot_id) for name, (upto, snapshot_id) in marks.items()},
            json.loads(properties["forgotten-until-ms"]),
        )
    except (ValueError, KeyError, TypeError, IndexError, pa.ArrowException) as err:  # Damage has many faces.
        raise DamagedLedgerError(str(err)) from err


def read(io: FileIO, location: str) -> Contents:
    """Return what the file at that location says; it is read once, and remembered while there is room.

    Raises:
        FileNotFoundError: it is not there.
        DamagedLedgerError: it is no ledger file that this version can read.
    """
    contents = _cache.get(location)
    if contents is None:
        with io.new_input(location).open() as stream:
            contents = decoded(stream.read())
        _cache.put(location, contents)
    return contents


def forget_all() -> None:
    """Forget what was read; the next `read` of each file reads it again."""
    _cache.clear()


class _Cache:
    """The files that were read last, by location: they never change. Shared by the threads of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._contents: OrderedDict[str, Contents] = OrderedDict()

    def get(self, location: str) -> Contents | None:
        with self._lock:
            if location in self._contents:
                self._contents.move_to_end(location)
            return self._contents.get(location)

    def put(self, location: str, contents: Contents) -> None:
        with self._lock:
            self._contents[location] = contents
            self._contents.move_to_end(location)
            while len(self._contents) > _CACHED_MAX:
                self._contents.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._contents.clear()


_cache: Final = _Cache()


def _blob(content: bytes) -> tuple[bytes, dict[str, Any]]:
    """Return the ledger's blob and its properties from the bytes of a Puffin file."""
    if content[:4] != _MAGIC or content[-4:] != _MAGIC or content[-8:-4] != _FLAGS:
        raise ValueError("this is no Puffin file with a plain footer")
    payload_size = int.from_bytes(content[-12:-8], "little")
    payload = json.loads(content[-12 - payload_size : -12])
    (blob,) = (blob for blob in payload["blobs"] if blob["type"] == BLOB_TYPE)
    return content[blob["offset"] : blob["offset"] + blob["length"]], blob["properties"]


def _by_asset(entries: Iterable[Entry]) -> dict[str, list[str]]:
    keys: dict[str, list[str]] = {}
    for entry in entries:
        for asset, some in entry.partitions.items():
            keys.setdefault(asset, []).extend(some)
    return keys
