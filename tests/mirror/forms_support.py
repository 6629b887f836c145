"""Short ways to say what a Delta log says, for the tests of what it is in Iceberg."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyiceberg.manifest import DataFile

from seriatim.mirror.delta.actions import AddFile, DeletionVector, Metadata
from seriatim.mirror.forms.data_files import data_file
from seriatim.mirror.forms.schemas import Form, Known, form_of

SOURCE = "file:///delta/t"
LONG = {"type": "array", "elementType": "long", "containsNull": True}
MAPPED = {"delta.columnMapping.mode": "name"}


def field(name: str, kind: object, **said: object) -> dict[str, Any]:
    """A field of a Delta schema, with what else is said of it."""
    return {"name": name, "type": kind, "nullable": True, "metadata": said}


def mapped(name: str, physical: str, field_id: int, kind: object, **said: object) -> dict[str, Any]:
    """A field under column mapping."""
    ids: dict[str, object] = {"delta.columnMapping.id": field_id, "delta.columnMapping.physicalName": physical}
    return field(name, kind, **ids, **said)


def struct(*fields: Mapping[str, Any]) -> dict[str, Any]:
    """A struct of a Delta schema."""
    return {"type": "struct", "fields": list(fields)}


def table(
    *fields: Mapping[str, Any], by: tuple[str, ...] = (), configuration: Mapping[str, str] | None = None
) -> Metadata:
    """The metadata of a Delta table."""
    return Metadata("an-id", struct(*fields), by, configuration or {})


def form(metadata: Metadata, known: Known | None = None, version: int = 7) -> Form:
    """The form of a table at version 7, if no other is given."""
    return form_of(SOURCE, version, metadata, known or Known.nothing())


def added(
    stats: Mapping[str, Any] | None = None,
    values: Mapping[str, str | None] | None = None,
    deletion_vector: DeletionVector | None = None,
) -> AddFile:
    """A file that is added."""
    return AddFile("file:///delta/t/a.parquet", values or {}, 100, True, stats=stats, deletion_vector=deletion_vector)


def file_of(metadata: Metadata, add: AddFile, rows: int | None = None) -> DataFile:
    """The Iceberg data file of a file of that table, at version 7."""
    return data_file(SOURCE, 7, add, form(metadata), metadata, rows)


def log_lines(root: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the actions that a log's JSON files have, in order, each with its version."""
    for path in sorted(each for each in (root / "_delta_log").glob("*.json") if each.stem.isdigit()):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.strip():
                yield int(path.stem), json.loads(line)


def add_of(root: Path, action: Mapping[str, Any]) -> AddFile:
    """The file that an `add` action has."""
    stats = action.get("stats")
    return AddFile(
        f"file://{root}/{unquote(action['path'])}",
        action["partitionValues"],
        action["size"],
        action["dataChange"],
        stats=json.loads(stats, parse_float=Decimal) if stats else None,
    )


def metadata_of(action: Mapping[str, Any]) -> Metadata:
    """The metadata that a `metaData` action has."""
    return Metadata(
        action["id"],
        json.loads(action.get("schemaString") or '{"type": "struct", "fields": []}'),  # None: a table yet to be filled
        tuple(action["partitionColumns"]),
        action.get("configuration") or {},
    )
