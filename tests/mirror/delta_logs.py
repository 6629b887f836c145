"""Writes Delta logs by hand: what deltalake does not write, or would not write wrong."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seriatim.mirror.delta.actions import FileKey, State
from seriatim.mirror.delta.log import DeltaLog

Action = Mapping[str, Any]

PROTOCOL: Final[Action] = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
SCHEMA: Final = {
    "type": "struct",
    "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}],
}
METADATA: Final[Action] = {
    "metaData": {
        "id": "a-table",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(SCHEMA),
        "partitionColumns": [],
        "configuration": {"delta.appendOnly": "false"},
    }
}
BIRTH: Final = (PROTOCOL, METADATA)

_MAP = pa.map_(pa.string(), pa.string())
_TEXTS = pa.list_(pa.string())
_DELETION_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
_ADD = [
    ("path", pa.string()),
    ("partitionValues", _MAP),
    ("size", pa.int64()),
    ("modificationTime", pa.int64()),
    ("dataChange", pa.bool_()),
    ("stats", pa.string()),
    ("deletionVector", _DELETION_VECTOR),
]
_CHECKPOINT = {
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", _TEXTS),
            ("writerFeatures", _TEXTS),
        ]
    ),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", _MAP)])),
            ("schemaString", pa.string()),
            ("partitionColumns", _TEXTS),
            ("configuration", _MAP),
        ]
    ),
    "remove": pa.struct([("path", pa.string()), ("deletionTimestamp", pa.int64()), ("dataChange", pa.bool_())]),
    "sidecar": pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())]),
    "checkpointMetadata": pa.struct([("version", pa.int64())]),
}


def add(path: str, **fields: Any) -> Action:
    """Return an `add` with what it must have, and `fields`."""
    body = {"path": path, "partitionValues": {}, "size": 10, "modificationTime": 5, "dataChange": True}
    return {"add": {**body, **fields}}


def remove(path: str, **fields: Any) -> Action:
    """Return a `remove` with what it must have, and `fields`."""
    return {"remove": {"path": path, "dataChange": True, **fields}}


def info(**fields: Any) -> Action:
    """Return a `commitInfo`."""
    return {"commitInfo": {"timestamp": 1_000, "operation": "WRITE", **fields}}


def log_folder(table: Path) -> Path:
    """Return the folder of the log, made if it is not there."""
    folder = table / "_delta_log"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_commit(table: Path, version: int, *actions: Action) -> Path:
    """Write one version."""
    return write_lines(log_folder(table) / f"{version:020d}.json", *actions)


def write_lines(file: Path, *actions: Action) -> Path:
    """Write actions as lines of JSON; the file is there whole or not at all, as Delta demands of its writers."""
    unseen = file.with_name(f".{file.name}.tmp")
    unseen.write_text("".join(json.dumps(action) + "\n" for action in actions), encoding="utf-8")
    return unseen.replace(file)


def write_parquet(
    file: Path, *actions: Action, stats_parsed: pa.DataType | None = None, without: Sequence[str] = ()
) -> Path:
    """Write actions as a checkpoint or a sidecar has them; `without` names fields of `add` to leave out."""
    file.parent.mkdir(parents=True, exist_ok=True)
    fields = [field for field in _ADD if field[0] not in without]
    types = {**_CHECKPOINT, "add": pa.struct([*fields, *([("stats_parsed", stats_parsed)] if stats_parsed else [])])}
    columns = {
        kind: pa.array([_paired(action.get(kind)) for action in actions], type_) for kind, type_ in types.items()
    }
    pq.write_table(pa.table(columns), file)
    return file


def _paired(body: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return an action with its maps as the pairs that PyArrow takes."""
    if body is None:
        return None
    maps = ("partitionValues", "configuration")
    return {name: list(value.items()) if name in maps else value for name, value in body.items()}


def open_log(table: Path) -> DeltaLog:
    """Return a table's log."""
    return DeltaLog.open(str(table))


def paths(table: Path, state: State) -> list[str]:
    """Return the files of a state, relative to the table."""
    return sorted(path.removeprefix(f"{table}/") for path, _ in state.files)


def replayed(log: DeltaLog, start: State | None, upto: int) -> set[FileKey]:
    """Return the files of a version, made from an earlier state (None: from nothing) by its commits."""
    files = set(start.files) if start else set()
    for commit in log.commits(start.version if start else -1, upto):
        files -= {removed.key for removed in commit.removes}
        files |= {added.key for added in commit.adds}
    return files


def real_tables() -> list[Path]:
    """Return the folders of Delta tables that other programs wrote, none where there are none to be had."""
    where = os.environ.get("SERIATIM_DELTA_TABLES")
    return sorted(log.parent for log in Path(where).resolve().glob("**/_delta_log")) if where else []


needs_real_tables = pytest.mark.skipif(
    not os.environ.get("SERIATIM_DELTA_TABLES"), reason="SERIATIM_DELTA_TABLES names no folder of Delta tables"
)
