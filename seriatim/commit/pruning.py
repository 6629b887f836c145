"""Whether a file can hold a row for which a condition is true, from its partition and its column bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyiceberg.expressions import BooleanExpression
from pyiceberg.expressions.visitors import expression_evaluator, inclusive_projection, manifest_evaluator
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, DataFileContent, ManifestContent, ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table import DataScan, FileScanTask
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import Record

from seriatim.commit import private
from seriatim.commit.live_entries import LiveEntries, is_live
from seriatim.commit.position_deletes import FILE_PATH_ID
from seriatim.commit.provable import provable


class Pruning:
    """Several conditions on one table; a file matters if it can hold a row for which one of them is true."""

    def __init__(self, metadata: TableMetadata, conditions: Sequence[BooleanExpression]) -> None:
        """Prepare to ask about files of that table."""
        self._metadata = metadata
        self._form, self._asked = _form(metadata), list(conditions)
        self._conditions = [provable(metadata, condition) for condition in conditions]
        self._bounds = [private.bounds_evaluator(metadata.schema(), condition) for condition in self._conditions]
        self._partitions: dict[int, list[Callable[[Record], bool]] | None] = {}
        self._manifests: dict[int, list[Callable[[ManifestFile], bool]]] = {}

    def fits(self, metadata: TableMetadata, conditions: Sequence[BooleanExpression]) -> bool:
        """Tell whether it answers as one that is prepared for this table and these conditions."""
        return self._asked == list(conditions) and self._form == _form(metadata)

    def may_list(self, manifest: ManifestFile) -> bool:
        """Tell whether the manifest may list a data file that may hold such a row; False is proof, True is not."""
        spec_id = manifest.partition_spec_id
        if spec_id not in self._manifests:
            spec = self._metadata.specs().get(spec_id)
            schema = self._metadata.schema()
            self._manifests[spec_id] = (
                []
                if spec is None or spec.is_unpartitioned()
                else [
                    manifest_evaluator(spec, schema, inclusive_projection(schema, spec, True)(condition), True)
                    for condition in self._conditions
                ]
            )
        by_partitions = self._manifests[spec_id]
        return not by_partitions or any(may_list(manifest) for may_list in by_partitions)

    def may_hold(self, file: DataFile) -> bool:
        """Tell whether the data file may hold such a row; False is proof, True is not."""
        by_partition = self._by_partition(file.spec_id)
        for number, by_bounds in enumerate(self._bounds):
            if (by_partition is None or by_partition[number](file.partition)) and by_bounds(file):
                return True
        return False

    def _by_partition(self, spec_id: int) -> list[Callable[[Record], bool]] | None:
        """Return an evaluator for each condition (None: the spec is not known, so that nothing is proven)."""
        if spec_id not in self._partitions:
            spec = self._metadata.specs().get(spec_id)
            if spec is None:
                self._partitions[spec_id] = None
                return None
            schema = self._metadata.schema()
            partition_schema = Schema(*spec.partition_type(schema).fields)
            project = inclusive_projection(schema, spec, True)
            self._partitions[spec_id] = [
                expression_evaluator(partition_schema, project(condition), True) for condition in self._conditions
            ]
        return self._partitions[spec_id]


def _form(metadata: TableMetadata) -> tuple[object, ...]:
    """Return all of a table that says what a condition means for a file of it."""
    return metadata.current_schema_id, metadata.schemas, metadata.partition_specs


def files_for(
    metadata: TableMetadata,
    entries: LiveEntries,
    snapshot_id: int | None,
    condition: BooleanExpression,
    pruning: Callable[[Sequence[BooleanExpression]], Pruning],
) -> Sequence[FileScanTask]:
    """Return the files of a snapshot (None: there is none) that may hold a row for which the condition is true."""
    if snapshot_id is None:
        return ()
    manifests = [each for each in entries.manifests(metadata.snapshot_by_id(snapshot_id)) if is_live(each)]
    if any(manifest.content == ManifestContent.DELETES for manifest in manifests):
        return _with_deletes(metadata, entries.io, snapshot_id, condition)
    if len(manifests) == 1 and len(only := entries.of(manifests[0]).entries) == 1:
        return [FileScanTask(only[0].data_file)]  # To rule it out takes longer than to look into it.
    pruned = pruning([condition])
    return [
        FileScanTask(entry.data_file)
        for manifest in manifests
        if pruned.may_list(manifest)
        for entry in entries.of(manifest).entries
        if pruned.may_hold(entry.data_file)
    ]


def _with_deletes(
    metadata: TableMetadata, io: FileIO, snapshot_id: int, condition: BooleanExpression
) -> Sequence[FileScanTask]:
    """Let PyIceberg plan: it knows which delete files belong to which data files."""
    try:
        return list(
            DataScan(metadata, io, row_filter=provable(metadata, condition), snapshot_id=snapshot_id).plan_files()
        )
    except TypeError:
        # It works out what is left to compare in each file, too, and compares the NULL that names a partition.
        pruning = Pruning(metadata, [condition])
        every = DataScan(metadata, io, snapshot_id=snapshot_id).plan_files()
        return [task for task in every if pruning.may_hold(task.file)]


def referenced_file(file: DataFile) -> str | None:
    """Return the one data file that a delete file refers to; None: several, or it is not known."""
    if file.content != DataFileContent.POSITION_DELETES:
        return None
    lower = (file.lower_bounds or {}).get(FILE_PATH_ID)
    upper = (file.upper_bounds or {}).get(FILE_PATH_ID)
    # A bound that was cut short is not the path: an upper bound is raised then, so the two differ.
    return lower.decode() if lower is not None and lower == upper else None
