"""The summary of a snapshot that we write: what it changed, and the totals of the table after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from pyiceberg.manifest import DataFileContent, ManifestEntry
from pyiceberg.table import TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Snapshot, SnapshotSummaryCollector, Summary, update_snapshot_summaries

from seriatim.commit.forms import schema_of
from seriatim.commit.manifests import Contents

_TOTALS: Final = (
    "total-data-files",
    "total-delete-files",
    "total-records",
    "total-files-size",
    "total-position-deletes",
    "total-equality-deletes",
)


def summarized(
    metadata: TableMetadata,
    parent: Snapshot | None,
    operation: Operation,
    changed: Sequence[tuple[int, Contents]],
    *,
    words: Mapping[str, str],
    entries: Callable[[], Iterable[ManifestEntry]],
) -> Summary:
    """Return the summary of what is `changed`, by partition spec, and of the words, where they do not contradict it.

    `entries` gives what is live in the parent, and is asked if the parent does not tell its totals.
    """
    limit = metadata.properties.get(
        TableProperties.WRITE_PARTITION_SUMMARY_LIMIT, TableProperties.WRITE_PARTITION_SUMMARY_LIMIT_DEFAULT
    )
    collector = SnapshotSummaryCollector(int(limit))
    for spec_id, contents in changed:
        spec = metadata.specs()[spec_id]
        schema = schema_of(metadata, spec)
        for file in contents.added:
            collector.add_file(file, schema=schema, partition_spec=spec)
        for entry in contents.deleted:
            collector.remove_file(entry.data_file, schema=schema, partition_spec=spec)
    # PyIceberg knows the totals of a `replace` no other way.
    known = Operation.OVERWRITE if operation is Operation.REPLACE else operation
    summary = update_snapshot_summaries(Summary(operation=known, **collector.build()), _before(parent, entries))
    return Summary(operation=operation, **{**words, **summary.additional_properties})


def _before(parent: Snapshot | None, entries: Callable[[], Iterable[ManifestEntry]]) -> dict[str, str] | None:
    """Return the totals of the parent (None: there is none), counted where it does not say them."""
    if parent is None:
        return None
    said = parent.summary.additional_properties if parent.summary is not None else {}
    if all(said.get(name, "").isdigit() for name in _TOTALS):
        return dict(said)
    totals = dict.fromkeys(_TOTALS, 0)
    for entry in entries():
        file = entry.data_file
        totals["total-files-size"] += file.file_size_in_bytes
        match file.content:
            case DataFileContent.DATA:
                totals["total-data-files"] += 1
                totals["total-records"] += file.record_count
            case DataFileContent.POSITION_DELETES:
                totals["total-delete-files"] += 1
                totals["total-position-deletes"] += file.record_count
            case DataFileContent.EQUALITY_DELETES:
                totals["total-delete-files"] += 1
                totals["total-equality-deletes"] += file.record_count
    return {name: str(total) for name, total in totals.items()}
