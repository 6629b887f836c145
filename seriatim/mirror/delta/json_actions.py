"""Actions as JSON says them (Delta protocol, "Actions"), turned into values.

`cdc`, `txn`, `domainMetadata` and kinds that are not known change no file, and are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from seriatim.mirror.delta.actions import AddFile, DeletionVector, Metadata, Protocol, RemoveFile
from seriatim.mirror.delta.locations import file_location

# Numbers with a point stay as exact as they were written; NaN and the infinities are no bounds.
_STATS = json.JSONDecoder(parse_float=Decimal, parse_constant=lambda _: None)
_NO_COLUMNS = '{"type": "struct", "fields": []}'  # What Delta takes a table for that was made without a schema.
_KINDS = frozenset(("add", "remove", "metaData", "protocol", "commitInfo", "sidecar"))


class MalformedError(ValueError):
    """What was read is no action as the protocol has it."""


@dataclass(slots=True)
class Actions:
    """What a file of the log says, gathered."""

    adds: list[AddFile] = field(default_factory=list)
    removes: list[RemoveFile] = field(default_factory=list)
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    info: Mapping[str, Any] = field(default_factory=dict)  # commitInfo
    sidecars: list[str] = field(default_factory=list)  # of a checkpoint: paths of the files that go on with it

    def take(self, action: Mapping[str, Any], root: str) -> None:
        """Take in one action: an object with the action's kind as its key."""
        for kind, body in action.items():
            if kind not in _KINDS or body is None:
                continue
            if not isinstance(body, dict):
                raise MalformedError(f"a {kind} that is no object: {body!r}")
            if kind == "add":
                self.adds.append(add_file(body, root))
            elif kind == "remove":
                self.removes.append(remove_file(body, root))
            elif kind == "metaData":
                self.metadata = metadata(body)
            elif kind == "protocol":
                self.protocol = protocol(body)
            elif kind == "commitInfo":
                self.info = body
            elif kind == "sidecar":
                self.sidecars.append(_text(body, "path", "sidecar"))


def read_actions(content: bytes, root: str, *, kinds: tuple[str, ...] = ()) -> Actions:
    """Return what the lines of a JSON file of the log say; with `kinds`, of lines that speak of one of these only.

    Raises:
        MalformedError: there is no line at all, a line is no JSON object, or says something that no action says.
    """
    actions = Actions()
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError as err:
        raise MalformedError(f"it is no UTF-8: {err}") from err
    if not content.strip():
        raise MalformedError("it is empty: no writer leaves it so, and what it said may be lost")
    for number, line in enumerate(lines, start=1):
        if not line.strip() or (kinds and not any(f'"{kind}"' in line for kind in kinds)):
            continue
        try:
            action = json.loads(line)
            if not isinstance(action, dict):
                raise MalformedError(f"a JSON object was expected, not {line[:40]!r}")
            actions.take(action, root)
        except (ValueError, TypeError, AttributeError, RecursionError) as err:  # What a value of a wrong type comes to.
            raise MalformedError(f"line {number}: {err}") from err
    return actions


def add_file(body: Mapping[str, Any], root: str) -> AddFile:
    """Return the file that an `add` speaks of."""
    path = _text(body, "path", "add")
    size = body.get("size")
    if not isinstance(size, int):
        raise MalformedError(f"the add of {path!r} has the size {size!r}")
    modified = body.get("modificationTime")
    return AddFile(
        path=file_location(path, root),
        partition_values=_partition_values(body.get("partitionValues"), path),
        size=size,
        data_change=_data_change(body),
        modification_time_ms=modified if isinstance(modified, int) else 0,
        stats=_stats(body.get("stats")) or body.get("stats_parsed"),  # The latter in checkpoints only.
        deletion_vector=_deletion_vector(body.get("deletionVector"), path),
    )


def remove_file(body: Mapping[str, Any], root: str) -> RemoveFile:
    """Return the file that a `remove` speaks of."""
    path = _text(body, "path", "remove")
    return RemoveFile(
        path=file_location(path, root),
        data_change=_data_change(body),
        deletion_vector=_deletion_vector(body.get("deletionVector"), path),
    )


def metadata(body: Mapping[str, Any]) -> Metadata:
    """Return what a `metaData` says."""
    schema_string = body.get("schemaString") or _NO_COLUMNS
    try:
        schema = json.loads(schema_string)
    except (ValueError, RecursionError) as err:
        raise MalformedError(f"the schema is no JSON: {err}") from err
    if not isinstance(schema, dict):
        raise MalformedError(f"the schema is no object: {schema_string[:40]!r}")
    provider = (body.get("format") or {}).get("provider") or "parquet"
    if provider != "parquet":
        raise MalformedError(f"its data files are {provider}, and only Parquet files can be read")
    name = body.get("name")
    return Metadata(
        id=_text(body, "id", "metaData"),
        schema=schema,
        partition_columns=tuple(body.get("partitionColumns") or ()),
        configuration={k: v for k, v in dict(body.get("configuration") or {}).items() if isinstance(v, str)},
        name=name if isinstance(name, str) else None,
    )


def protocol(body: Mapping[str, Any]) -> Protocol:
    """Return what a `protocol` says."""
    reader, writer = body.get("minReaderVersion"), body.get("minWriterVersion")
    if not isinstance(reader, int) or not isinstance(writer, int):
        raise MalformedError(f"the protocol has the versions {reader!r} and {writer!r}")
    return Protocol(
        reader,
        writer,
        frozenset(body.get("readerFeatures") or ()),
        frozenset(body.get("writerFeatures") or ()),
    )


def _text(body: Mapping[str, Any], key: str, kind: str) -> str:
    """Return a text that an action must have."""
    value = body.get(key)
    if not isinstance(value, str):
        raise MalformedError(f"a {kind} has the {key} {value!r}")
    return value


def _data_change(body: Mapping[str, Any]) -> bool:
    """Return whether rows changed: so, unless it is denied."""
    return body.get("dataChange") is not False


def _partition_values(body: Mapping[str, Any] | None, path: str) -> dict[str, str | None]:
    """Return the values of the partition, null for the empty text, which means the same."""
    values = body or {}
    for value in values.values():
        if value is not None and not isinstance(value, str):
            raise MalformedError(f"the add of {path!r} has the partition value {value!r}, which is no text")
    return {name: value or None for name, value in values.items()}


def _stats(text: object) -> Mapping[str, Any] | None:
    """Return a file's statistics, None where there are none to be understood: they help, and nothing hangs on them."""
    if not text or not isinstance(text, str):
        return None
    try:
        stats = _STATS.decode(text)
    except (ValueError, ArithmeticError, RecursionError):
        return None
    return stats if isinstance(stats, dict) else None


def _deletion_vector(body: Mapping[str, Any] | None, path: str) -> DeletionVector | None:
    """Return the deletion vector of a file."""
    if body is None or body.get("storageType") is None:  # Some writers of Parquet say "none" by a struct of nulls.
        return None
    size, cardinality, offset = body.get("sizeInBytes"), body.get("cardinality"), body.get("offset")
    if not isinstance(size, int) or not isinstance(cardinality, int) or not isinstance(offset, int | None):
        raise MalformedError(f"the deletion vector of {path!r} is described by {dict(body)!r}")
    kind, where = _text(body, "storageType", "deletionVector"), _text(body, "pathOrInlineDv", "deletionVector")
    return DeletionVector(kind, where, size, cardinality, offset)
