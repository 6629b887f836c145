"""The value `Step`: one snapshot of a catalog commit that lands several, each with words and a form of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyiceberg.manifest import DataFile, DataFileContent
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.snapshots import Operation


@dataclass(frozen=True, slots=True)
class Form:
    """What becomes the table's current schema, partition spec and properties; field ids stay as they are given.

    The ids of schema and spec themselves are the writer's to give. One that is equal to one that the table has, is
    that one.
    """

    schema: Schema | None = None  # None: the schema stays
    spec: PartitionSpec | None = None  # None: the spec stays
    properties: Mapping[str, str] = field(default_factory=dict)  # set beside those that the table has


@dataclass(frozen=True, slots=True)
class Step:
    """One snapshot: what it adds to its parent and removes from it, and what it says of itself.

    Added files have the spec that their `spec_id` says, and the current one where they have none. Removed ones are
    found by their path.
    """

    operation: Operation
    added: tuple[DataFile, ...] = ()
    removed: tuple[DataFile, ...] = ()
    added_deletes: tuple[DataFile, ...] = ()  # position deletes
    removed_deletes: tuple[DataFile, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)  # for the summary of this snapshot alone
    at_ms: int | None = None  # None: when it is written. No snapshot is older than its parent, whatever is said here.
    form: Form | None = None  # what the table becomes before this snapshot; None: it stays as it is

    def __post_init__(self) -> None:
        """Refuse files of another content than their place says, and a word that is no word."""
        _require(DataFileContent.DATA, "data", (*self.added, *self.removed))
        _require(DataFileContent.POSITION_DELETES, "position deletes", (*self.added_deletes, *self.removed_deletes))
        if "operation" in self.words:
            raise ValueError("the operation of a step is said by its `operation`, not among its words")

    @property
    def all_removed(self) -> tuple[DataFile, ...]:
        """The files of either kind that are there no more."""
        return (*self.removed, *self.removed_deletes)

    @property
    def has_deletes(self) -> bool:
        """Whether it adds or removes delete files."""
        return bool(self.added_deletes or self.removed_deletes)


def _require(content: DataFileContent, name: str, files: Sequence[DataFile]) -> None:
    for file in files:
        if file.content != content:
            raise ValueError(f"{file.file_path} holds {file.content!r}, and stands where {name} are expected")
