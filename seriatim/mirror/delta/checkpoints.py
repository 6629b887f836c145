"""Reads checkpoints: all that a table was at one version (Delta protocol, "Checkpoints").

Classic ones, those in parts, and those of the second kind, in Parquet or JSON, with their sidecars. Parquet is read a
batch of rows at a time, and of the columns only what is asked for; tombstones are passed over.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seriatim.mirror.delta.json_actions import Actions, MalformedError, read_actions
from seriatim.mirror.delta.listing import Checkpoint
from seriatim.mirror.delta.locations import file_location
from seriatim.mirror.delta.storage import Storage

_BATCH_ROWS = 10_000
_HEAD = ("metaData", "protocol")
_ADD_FIELDS = ("path", "partitionValues", "size", "modificationTime", "dataChange", "stats", "deletionVector")
_STATS_PARSED = "stats_parsed"


def read_checkpoint(storage: Storage, checkpoint: Checkpoint, *, files: bool) -> Actions:
    """Return what a checkpoint says: protocol and metadata, and its files unless they are not asked for.

    Raises:
        MalformedError: it is damaged or lacks something.
        OSError: it cannot be read.
    """
    actions, root = Actions(), storage.root
    log = f"{root}/_delta_log"
    for part in checkpoint.parts:
        location = f"{log}/{part.name}"
        if part.name.endswith(".json"):
            actions = read_actions(storage.read(location), root, kinds=() if files else _HEAD)
        else:
            _read_parquet(storage, location, actions, files=files)
    if actions.metadata is None or actions.protocol is None:
        raise MalformedError(f"{checkpoint.parts[0].name} lacks the protocol or the metadata")
    for path in actions.sidecars if files else ():
        _read_parquet(storage, file_location(path, f"{log}/_sidecars"), actions, files=True)
    return actions


def _read_parquet(storage: Storage, location: str, actions: Actions, *, files: bool) -> None:
    """Take in what a Parquet file says."""
    wanted = [*_HEAD]
    if files:
        wanted += ["sidecar.path", *(f"add.{name}" for name in _ADD_FIELDS), f"add.{_STATS_PARSED}"]
    try:
        with storage.open(location) as source:
            # Timestamps of old writers count nanoseconds from a day, which reach less far than years do.
            file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
            for batch in file.iter_batches(_BATCH_ROWS, columns=wanted):
                for action in _rows(batch):
                    actions.take(action, storage.root)
    except (pa.ArrowException, ValueError, TypeError, AttributeError) as err:
        raise MalformedError(f"{location.rpartition('/')[2]}: {err}") from err


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Yield the actions of a batch in the shape that they have in JSON."""
    for kind in batch.schema.names:
        column = batch.column(kind)
        present = column.filter(column.is_valid())
        if len(present):
            yield from ({kind: body} for body in (_adds(present) if kind == "add" else _bodies(present)))


def _bodies(column: pa.StructArray) -> Iterator[dict[str, Any]]:
    """Yield structs as objects, their maps included."""
    maps = [column.type.field(i).name for i in range(column.type.num_fields) if _is_map(column.type.field(i).type)]
    for body in column.to_pylist():
        for name in maps:
            body[name] = dict(body[name] or ())
        yield body


def _is_map(type_: pa.DataType) -> bool:
    """Tell whether a type is a map, which PyArrow gives as pairs."""
    return bool(pa.types.is_map(type_))


def _adds(column: pa.StructArray) -> Iterator[dict[str, Any]]:
    """Yield the `add`s, with the statistics that are there as columns only where they are not there as JSON."""
    names = [column.type.field(i).name for i in range(column.type.num_fields)]
    plain = [name for name in names if name != _STATS_PARSED]
    bodies = _bodies(pa.StructArray.from_arrays([column.field(name) for name in plain], names=plain))
    if _STATS_PARSED not in names:
        yield from bodies
        return
    parsed = column.field(_STATS_PARSED)
    for row, body in enumerate(bodies):
        if body.get("stats") is None:
            body[_STATS_PARSED] = _parsed_stats(parsed[row])
        yield body


def _parsed_stats(stats: pa.StructScalar) -> Mapping[str, Any] | None:
    """Return statistics as the JSON would have said them, None where Python has no equal for a value."""
    try:
        value = _as_json(stats.as_py())
    except (ValueError, OverflowError, pa.ArrowException):  # A year after 9999, for one.
        return None
    return value if value and isinstance(value, dict) else None


def _as_json(value: object) -> object:
    """Return a value in the form that JSON's reader gives: numbers with a point are decimals, times are texts."""
    if isinstance(value, dict):
        said = {name: _as_json(inner) for name, inner in value.items()}
        return {name: inner for name, inner in said.items() if inner is not None}
    if isinstance(value, float):
        return Decimal(repr(value)) if math.isfinite(value) else None
    if isinstance(value, dt.datetime):
        if value.tzinfo is None:
            return value.isoformat(timespec="microseconds")
        return value.astimezone(dt.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, dt.date):
        return value.isoformat()
    return value if isinstance(value, bool | int | str | Decimal) else None
