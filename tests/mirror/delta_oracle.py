"""What deltalake, which reads logs by code that is not ours, says of a version, in our words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from seriatim.mirror.delta.actions import State
from seriatim.mirror.delta.locations import file_location
from seriatim.mirror.delta.log import DeltaLog


@dataclass(frozen=True, slots=True)
class File:
    """What both of them say of a file."""

    size: int
    modification_time_ms: int
    rows: int | None  # None: not known
    null_partitions: int  # how many of its partition values are null
    text_partitions: frozenset[str]  # those of its partition values that are texts


def open_version(table: Path, version: int) -> DeltaTable | None:
    """Return the table at a version, None where deltalake cannot open it."""
    try:
        return DeltaTable(str(table), version=version)
    except (DeltaError, OSError):
        return None


def require_equal(log: DeltaLog, state: State, opened: DeltaTable) -> None:
    """Pass only a state that is what deltalake says: its files, what is known of each, rows deleted, the head.

    The table's own folder must have a plain name: deltalake gives files in others by half of a URI.
    """
    said = opened.file_uris()
    assert {file.path for file in state.files.values()} == set(said)
    assert len(state.files) == len(said)
    ours, theirs = _ours(state), _files(log, opened)
    unknown = {path for path, file in theirs.items() if file.rows is None}  # Also where a checkpoint has columns only.
    assert {path: replace(file, rows=None) if path in unknown else file for path, file in ours.items()} == theirs
    deleted = {
        file.path: log.deleted_positions(file.deletion_vector).to_pylist()
        for file in state.files.values()
        if file.deletion_vector is not None
    }
    assert deleted == _deleted(log, opened)
    assert state.metadata.id == str(opened.metadata().id)
    assert list(state.metadata.partition_columns) == opened.metadata().partition_columns
    assert [field["name"] for field in state.metadata.schema["fields"]] == [f.name for f in opened.schema().fields]
    assert state.protocol.min_reader_version == opened.protocol().min_reader_version
    assert state.protocol.reader_features == frozenset(opened.protocol().reader_features or ())
    assert log.head(state.version) == (state.protocol, state.metadata)


def _ours(state: State) -> dict[str, File]:
    """Return what our state says of each file."""
    texts = {
        field["name"]
        for field in state.metadata.schema["fields"]
        if field["type"] == "string" and field["name"] in state.metadata.partition_columns
    }
    mapped = state.metadata.column_mapping != "none"
    return {
        file.path: File(
            file.size,
            file.modification_time_ms,
            (file.stats or {}).get("numRecords"),
            sum(value is None for value in file.partition_values.values()),
            frozenset(v for k, v in file.partition_values.items() if v is not None and (mapped or k in texts)),
        )
        for file in state.files.values()
    }


def _files(log: DeltaLog, opened: DeltaTable) -> dict[str, File]:
    """Return what deltalake says of each file."""
    mapped = opened.metadata().configuration.get("delta.columnMapping.mode", "none") != "none"
    files = {}
    for action in pa.table(opened.get_add_actions()).to_pylist():
        partition = (action.get("partition") or {}).values()
        texts = (str(v) if mapped else v for v in partition if v is not None and (mapped or isinstance(v, str)))
        files[file_location(action["path"], log.root)] = File(
            action["size_bytes"],
            action["modification_time"],
            action["num_records"],
            sum(value is None for value in partition),
            frozenset(texts),
        )
    return files


def _deleted(log: DeltaLog, opened: DeltaTable) -> dict[str, list[int]]:
    """Return the rows that deltalake takes for deleted, by file."""
    return {
        file_location(vector["filepath"], log.root): [
            row for row, is_kept in enumerate(vector["selection_vector"]) if not is_kept
        ]
        for vector in pa.table(opened.deletion_vectors()).to_pylist()
    }
