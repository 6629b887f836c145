"""Writes Delta logs of any size; the data files that they name are not there, since the mirror does not open any."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

_COLUMNS: Final = (("id", "long"), ("kind", "string"), ("amount", "decimal(12,2)"), ("booked_at", "timestamp"))


def write_log(root: Path, *, versions: int, files_per_version: int = 1, replaces: bool = False) -> None:
    """Write the log of a table; each version adds files, and if it `replaces`, removes those of the one before."""
    log = root / "_delta_log"
    log.mkdir(parents=True)
    for version in range(versions):
        actions = [*_head(version), *_files(version, files_per_version, replaces=replaces)]
        lines = "\n".join(json.dumps(action) for action in actions)
        (log / f"{version:020d}.json").write_text(lines, encoding="utf-8")


def _head(version: int) -> Iterator[dict[str, Any]]:
    yield {"commitInfo": {"timestamp": 1_700_000_000_000 + version, "operation": "WRITE"}}
    if version == 0:
        fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in _COLUMNS]
        schema = json.dumps({"type": "struct", "fields": fields})
        yield {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
        yield {
            "metaData": {
                "id": "benchmark",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": schema,
                "partitionColumns": [],
                "configuration": {},
            }
        }


def _files(version: int, count: int, *, replaces: bool) -> Iterator[dict[str, Any]]:
    stats = {
        "numRecords": 1000,
        "minValues": {"id": version * 1000, "kind": "cash", "amount": -10.5, "booked_at": "2026-01-01T00:00:00.000Z"},
        "maxValues": {
            "id": version * 1000 + 999,
            "kind": "wire",
            "amount": 99.25,
            "booked_at": "2026-01-02T00:00:00.000Z",
        },
        "nullCount": {name: 0 for name, _ in _COLUMNS},
    }
    for number in range(count):
        if replaces and version:
            path = f"part-{version - 1}-{number}.parquet"
            yield {"remove": {"path": path, "deletionTimestamp": 1, "dataChange": True}}
        yield {
            "add": {
                "path": f"part-{version}-{number}.parquet",
                "partitionValues": {},
                "size": 40_000,
                "modificationTime": 1_700_000_000_000,
                "dataChange": True,
                "stats": json.dumps(stats),
            }
        }
