"""Which data files of a table are to become fewer: small ones of one partition, and those that have deletes on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestContent
from pyiceberg.table import FileScanTask, Table

from seriatim.errors import UpkeepRefusedError


@dataclass(frozen=True, slots=True)
class Sizes:
    """What counts as small, and what small files become."""

    target_bytes: int
    small_below: float  # as a share of the target
    files_min: int

    def __post_init__(self) -> None:
        """Refuse sizes by which a compaction would never come to an end."""
        if self.target_bytes < 1:
            raise ValueError(f"target_bytes must be at least 1, not {self.target_bytes}")
        if not 0 < self.small_below <= 1:
            raise ValueError(f"small_below must be above 0 and at most 1, not {self.small_below}")
        if self.files_min < 2:
            raise ValueError(f"files_min must be at least 2, not {self.files_min}: one file is no fewer than one")

    def is_small(self, file: DataFile) -> bool:
        """Tell whether the file should share one with others."""
        return file.file_size_in_bytes < self.small_below * self.target_bytes


@dataclass(frozen=True, slots=True)
class Group:
    """Files of one partition that become one file."""

    tasks: tuple[FileScanTask, ...]

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The data files."""
        return tuple(task.file for task in self.tasks)

    @property
    def bytes(self) -> int:
        """Their size."""
        return sum(file.file_size_in_bytes for file in self.files)


@dataclass(slots=True)
class Groups:
    """What is to be compacted in one snapshot of a table."""

    groups: list[Group] = field(default_factory=list)
    files_seen: int = 0
    files_left: int = 0  # small, or with deletes, but of another spec or format, or in a partition that is NaN


def find_groups(table: Table, snapshot_id: int, sizes: Sizes) -> Groups:
    """Return the groups of a snapshot.

    Raises:
        UpkeepRefusedError: it has equality deletes, which PyIceberg cannot read.
    """
    for file in _files(table, snapshot_id, ManifestContent.DELETES):
        if file.content == DataFileContent.EQUALITY_DELETES:
            raise UpkeepRefusedError(
                ".".join(table.name()),
                reason=f"{file.file_path} holds equality deletes, which PyIceberg cannot read",
                remedy="Compact it with the engine that wrote them",
            )
    result = Groups()
    partitions: dict[tuple[Any, ...], list[FileScanTask]] = {}
    for task in table.scan(snapshot_id=snapshot_id).plan_files():
        result.files_seen += 1
        if not (task.delete_files or sizes.is_small(task.file)):
            continue
        if _can_be_rewritten(table, task.file):
            partitions.setdefault(_partition(task.file), []).append(task)
        else:
            result.files_left += 1
    for tasks in partitions.values():
        result.groups.extend(_packed(tasks, sizes))
    return result


def data_files(table: Table, snapshot_id: int) -> frozenset[str]:
    """Return the data files of a snapshot."""
    return frozenset(file.file_path for file in _files(table, snapshot_id, ManifestContent.DATA))


def delete_files(table: Table, snapshot_id: int) -> frozenset[str]:
    """Return the delete files of a snapshot."""
    return frozenset(file.file_path for file in _files(table, snapshot_id, ManifestContent.DELETES))


def _files(table: Table, snapshot_id: int, content: ManifestContent) -> Iterator[DataFile]:
    snapshot = table.metadata.snapshot_by_id(snapshot_id)
    for manifest in snapshot.manifests(table.io) if snapshot is not None else ():
        if manifest.content == content:
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
                yield entry.data_file


def _packed(tasks: Iterable[FileScanTask], sizes: Sizes) -> Iterator[Group]:
    """Fill groups up to the target, one after the other; a file with deletes may be one by itself."""
    group: list[FileScanTask] = []
    size = 0
    for task in sorted(tasks, key=lambda each: each.file.file_path):
        if group and size + task.file.file_size_in_bytes > sizes.target_bytes:
            yield from _worth_it(group, sizes)
            group, size = [], 0
        group.append(task)
        size += task.file.file_size_in_bytes
    yield from _worth_it(group, sizes)


def _worth_it(group: list[FileScanTask], sizes: Sizes) -> Iterator[Group]:
    if len(group) >= sizes.files_min or any(task.delete_files for task in group):
        yield Group(tuple(group))


def _can_be_rewritten(table: Table, file: DataFile) -> bool:
    """Leave files of an older spec, which might become more files; ORC and Avro; and what PyIceberg cannot write."""
    is_nan = any(isinstance(value, float) and math.isnan(value) for value in _partition(file))
    return file.spec_id == table.metadata.default_spec_id and file.file_format == FileFormat.PARQUET and not is_nan


def _partition(file: DataFile) -> tuple[Any, ...]:
    return tuple(file.partition[number] for number in range(len(file.partition)))
