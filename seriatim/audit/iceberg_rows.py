"""The judge's port to the rows of an Iceberg table: only manifests and files that differ are read, and read once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeVar

import pyarrow as pa
from pyiceberg.exceptions import ValidationError
from pyiceberg.expressions import AlwaysFalse, AlwaysTrue, BooleanExpression
from pyiceberg.manifest import DataFile, DataFileContent, ManifestContent, ManifestFile
from pyiceberg.table import DataScan, FileScanTask, Table

from seriatim.audit.past import CannotReadError, Difference, LiveFile, MissingFileError
from seriatim.commit import private
from seriatim.commit.conditions import understood
from seriatim.commit.masks import mask_of

T = TypeVar("T")

_ROWS_BYTES_MAX: Final = 64 * 1024 * 1024
_FILES_MAX: Final = 20_000  # Of manifests that were read, and may be needed again by the next snapshot.
_THREADS: Final = 8
_FEW: Final = 8


@dataclass(frozen=True, slots=True)
class _Live(LiveFile):
    """A live file, and how to read it."""

    file: DataFile = field(kw_only=True, compare=False, repr=False)
    delete_files: tuple[DataFile, ...] = field(kw_only=True, compare=False, repr=False, default=())


class IcebergRows:
    """The rows of one table as it was loaded, in its columns of today."""

    def __init__(self, table: Table) -> None:
        """Nothing is read yet."""
        self._metadata, self._io = table.metadata, table.io
        self._reader = private.FileReader(table.metadata, table.io)
        self._snapshots = {snapshot.snapshot_id: snapshot for snapshot in table.metadata.snapshots}
        self._lists: OrderedDict[int, dict[str, ManifestFile]] = OrderedDict()
        self._manifests: OrderedDict[str, tuple[_Live, ...]] = OrderedDict()
        self._manifest_files = 0
        self._planned: OrderedDict[int, frozenset[_Live]] = OrderedDict()
        self._rows: OrderedDict[_Live, pa.Table] = OrderedDict()
        self._rows_bytes = 0

    def difference(self, before_id: int | None, after_id: int) -> Difference:
        """Return how the live files of two snapshots differ (None: from those of an empty table)."""
        old = self._list(before_id) if before_id is not None else {}
        new = self._list(after_id)
        if any(each.content == ManifestContent.DELETES for each in (*old.values(), *new.values())):
            was = self._plan(before_id) if before_id is not None else frozenset()
            now = self._plan(after_id)
            return Difference(tuple(now - was), tuple(was - now))
        gone = {file for path in old.keys() - new.keys() for file in self._files(old[path])}
        come = {file for path in new.keys() - old.keys() for file in self._files(new[path])}
        return Difference(tuple(come - gone), tuple(gone - come))

    def missing(self, files: Sequence[LiveFile]) -> list[str]:
        """Return the locations of those data and delete files that are not there."""
        locations = list(dict.fromkeys(location for file in files for location in (file.location, *file.deletes)))
        if len(locations) <= _FEW:
            return [location for location in locations if not self._exists(location)]
        with ThreadPoolExecutor(_THREADS) as pool:
            found = pool.map(self._exists, locations)
            return [location for location, is_there in zip(locations, found, strict=True) if not is_there]

    def read(self, snapshot_id: int, file: LiveFile) -> pa.Table:
        """Return the live rows of a file."""
        del snapshot_id  # The file knows the deletes that applied to it there.
        assert isinstance(file, _Live)
        if file in self._rows:
            self._rows.move_to_end(file)
            return self._rows[file]
        with _explained(file.location):
            rows = self._reader.read(FileScanTask(file.file, set(file.delete_files)))
        self._rows[file] = rows
        self._rows_bytes += rows.nbytes
        while self._rows_bytes > _ROWS_BYTES_MAX:
            self._rows_bytes -= self._rows.popitem(last=False)[1].nbytes
        return rows

    def matching(self, rows: pa.Table, condition: BooleanExpression) -> pa.Table:
        """Return the rows for which the condition is true."""
        if isinstance(condition, AlwaysTrue | AlwaysFalse):
            return rows if isinstance(condition, AlwaysTrue) else rows.slice(0, 0)
        with _explained("the condition"):
            schema = self._metadata.schema()
            return rows.filter(mask_of(schema, understood("what the commit read", schema, condition), rows))

    def _exists(self, location: str) -> bool:
        return self._io.new_input(location).exists()

    def _list(self, snapshot_id: int) -> dict[str, ManifestFile]:
        if snapshot_id not in self._lists:
            snapshot = self._snapshots[snapshot_id]
            with _explained(snapshot.manifest_list):
                self._lists[snapshot_id] = {
                    each.manifest_path: each for each in private.read_manifest_list(self._io, snapshot.manifest_list)
                }
            _keep(self._lists)
        return self._lists[snapshot_id]

    def _files(self, manifest: ManifestFile) -> tuple[_Live, ...]:
        path = manifest.manifest_path
        if path not in self._manifests:
            with _explained(path):
                entries = private.read_manifest(self._io, manifest)
            files = [entry.data_file for entry in entries if entry.data_file.content == DataFileContent.DATA]
            self._manifests[path] = tuple(_Live(file.file_path, file.record_count, file=file) for file in files)
            self._manifest_files += len(files)
            while self._manifest_files > _FILES_MAX and len(self._manifests) > 1:
                self._manifest_files -= len(self._manifests.popitem(last=False)[1])
        return self._manifests[path]

    def _plan(self, snapshot_id: int) -> frozenset[_Live]:
        """Return the live files of a snapshot that has delete files, each with those that apply to it."""
        if snapshot_id not in self._planned:
            metadata = self._metadata.model_copy(update={"current_snapshot_id": snapshot_id})
            with _explained(f"snapshot {snapshot_id}"):
                tasks = list(DataScan(metadata, self._io).plan_files())
            self._planned[snapshot_id] = frozenset(
                _Live(
                    task.file.file_path,
                    task.file.record_count,
                    tuple(sorted(each.file_path for each in task.delete_files)),
                    file=task.file,
                    delete_files=tuple(task.delete_files),
                )
                for task in tasks
            )
            _keep(self._planned)
        return self._planned[snapshot_id]


def _keep(cache: OrderedDict[int, T]) -> None:
    """Keep what two neighbours need."""
    while len(cache) > 2:
        cache.popitem(last=False)


@contextmanager
def _explained(location: str | None) -> Iterator[None]:
    """Tell a file that is missing from one that cannot be read."""
    try:
        yield
    except FileNotFoundError as err:
        raise MissingFileError(location or str(err)) from err
    except (ValueError, TypeError, NotImplementedError, OSError, pa.ArrowException, ValidationError) as err:
        raise CannotReadError(f"{location}: {err}") from err
