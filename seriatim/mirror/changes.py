"""What a mirror's snapshots have added: the rows of a range of Delta versions, for whoever consumes them in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntryStatus, ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table import DataScan, FileScanTask, Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation, Snapshot

from seriatim.commit import private
from seriatim.commit.lineage import walk
from seriatim.errors import ChangesUnknownError, NotAppendedError
from seriatim.mirror.target import name_of
from seriatim.mirror.words import Mirrored


def appended(table: Table, after: int | None, upto: int, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the rows that the Delta versions after `after` (None: from the first one) up to `upto` have appended.

    They come version by version, in the table's current schema (`columns`: some of it). A version that only wrote its
    rows anew (OPTIMIZE) has appended none. Whoever remembers `upto` and begins the next time after it sees every row
    once; `Stream` remembers it together with what was made of the rows.

    Raises:
        NotAppendedError: one of the versions took rows away, or changed them.
        ChangesUnknownError: the mirror is not there yet, or what the versions added can no longer be told from it.
        ValueError: the table has not all of the columns.
    """
    schema = table.schema() if columns is None else table.schema().select(*columns, case_sensitive=True)
    tables = [
        _read(table, schema, task, mirrored)
        for snapshot, mirrored in _between(table, after, upto)
        for task in _tasks(table, snapshot, mirrored)
    ]
    return pa.concat_tables(tables) if tables else schema_to_pyarrow(schema, include_field_ids=False).empty_table()


def _between(table: Table, after: int | None, upto: int) -> list[tuple[Snapshot, Mirrored]]:
    """Return the snapshots of these versions, oldest first: all of them, one after the other, or an error."""
    first = 0 if after is None else after + 1
    head = table.metadata.snapshot_by_name(MAIN_BRANCH)
    found: list[tuple[Snapshot, Mirrored]] = []
    missing = upto  # Each version has a snapshot, so what is covered down to `first` without a gap is everything.
    for snapshot in walk(table.metadata, head.snapshot_id if head else None):
        if missing < first:
            break
        mirrored = Mirrored.of(snapshot)
        if mirrored is None:
            raise _unknown(table, after, upto, f"somebody else committed snapshot {snapshot.snapshot_id}")
        since = mirrored.version if mirrored.gap_from is None else mirrored.gap_from
        if since > upto:
            continue
        if mirrored.version > upto or since < first <= mirrored.version:
            raise _unknown(table, after, upto, f"one snapshot stands for the versions {since} to {mirrored.version}")
        if mirrored.version < missing:
            break
        found.append((snapshot, mirrored))
        missing = since - 1
    if missing >= first:
        raise _unknown(table, after, upto, f"version {missing} is not, or no longer, among the mirror's snapshots")
    return found[::-1]


def _read(table: Table, schema: Schema, task: FileScanTask, mirrored: Mirrored) -> pa.Table:
    """Return the rows of one file.

    Each by itself: delta-rs writes text as `string_view` or as `string`, which PyIceberg cannot put together.
    """
    try:
        rows = private.read_columns(table.metadata, table.io, schema, [task])
    except FileNotFoundError as err:
        reason = f"{task.file.file_path} of version {mirrored.version} is gone, as after a VACUUM"
        raise _unknown(table, mirrored.version - 1, mirrored.version, reason) from err
    return rows.cast(schema_to_pyarrow(schema, include_field_ids=False))


def _unknown(table: Table, after: int | None, upto: int, reason: str) -> ChangesUnknownError:
    return ChangesUnknownError(name_of(table), after=after, upto=upto, reason=reason)


def _tasks(table: Table, snapshot: Snapshot, mirrored: Mirrored) -> Iterator[FileScanTask]:
    """Yield what is to be read of the files that one snapshot has added."""
    operation = snapshot.summary.operation if snapshot.summary else None
    if operation is Operation.REPLACE:
        return
    if operation is not Operation.APPEND:
        raise NotAppendedError(name_of(table), version=mirrored.version, operation=mirrored.operation)
    own = [each for each in snapshot.manifests(table.io) if each.added_snapshot_id == snapshot.snapshot_id]
    files = list(_added(table, snapshot, own))
    if not any(each.content == ManifestContent.DELETES for each in own):
        yield from (FileScanTask(file) for file in files)
        return
    # A file may come with rows that are deleted from the start; only a plan of the snapshot knows which.
    paths = {file.file_path for file in files}
    for task in DataScan(table.metadata, table.io, snapshot_id=snapshot.snapshot_id).plan_files():
        if task.file.file_path in paths:
            yield task


def _added(table: Table, snapshot: Snapshot, manifests: Sequence[ManifestFile]) -> Iterator[DataFile]:
    for manifest in manifests:
        if manifest.content != ManifestContent.DATA:
            continue
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            # Entries of earlier snapshots are carried on in manifests that were put together.
            if entry.status == ManifestEntryStatus.ADDED and entry.snapshot_id in (None, snapshot.snapshot_id):
                yield entry.data_file
