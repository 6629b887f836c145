"""A table's past as the judge takes it: plain values, from a catalog or made by hand, and a port to the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa
from pyiceberg.expressions import BooleanExpression

from seriatim.commit.ledger_words import Page
from seriatim.commit.reads import Reads


@dataclass(frozen=True, slots=True)
class StreamStep:
    """The step of a stream that a commit applied."""

    stream: str
    after: int | None  # None: it began the stream
    upto: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a commit of Seriatim recorded of itself."""

    commit_id: str
    operation_ids: tuple[str, ...] = ()
    base_snapshot_id: int | None = None  # None: the table was empty
    base_sequence_number: int | None = None  # None: it does not say
    computed_on_snapshot_id: int | None = None  # None: on its base
    reads: Reads | None = None  # None: it does not say what it depends on
    part: tuple[int, int] | None = None  # (1, 2): the first of two snapshots; None: it does not say
    rows_added: int | None = None  # None: it does not say
    rows_removed: int | None = None
    sums: Mapping[str, int] = field(default_factory=dict)
    step: StreamStep | None = None
    page: Page | None = None  # what had been applied before it; None: it carries no ledger
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One snapshot of a lineage, and what it says."""

    snapshot_id: int
    sequence_number: int  # 0: the format version has none
    committed_at_ms: int
    operation: str | None  # append, overwrite, delete or replace; None: it does not say
    parent_id: int | None = None  # None: it has none, or its parent was expired
    files_total: int | None = None  # how many data files it says there are; None: it does not say
    records_total: int | None = None
    recorded: Recorded | None = None  # None: it is not a commit of Seriatim
    damage: str | None = None  # what is wrong with its words; None: nothing
    made_by: str | None = None
    mirrored: tuple[int, int] | None = None  # the first and the last Delta version that it is; None: of no mirror


@dataclass(frozen=True, slots=True)
class Past:
    """The lineage of a branch, from the oldest snapshot that is left."""

    table: str
    branch: str
    steps: tuple[Step, ...]  # oldest first
    is_cut: bool = False  # older snapshots are gone, or may be
    is_cut_certain: bool = (
        True  # False: nothing tells whether the oldest was the first; format version 1 has no numbers
    )
    is_cut_vouched_for: bool = False  # the ledger still tells what they applied
    ledger_missing: str | None = None  # where the newest ledger file should be; None: it is there, or there is none


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A data file, with the delete files that apply to it."""

    location: str
    records: int  # as its manifest says
    deletes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """The live files that a snapshot has and the one before has not, and the other way round."""

    added: tuple[LiveFile, ...] = ()
    removed: tuple[LiveFile, ...] = ()


class MissingFileError(Exception):
    """A file that the table refers to is not there."""

    def __init__(self, location: str) -> None:
        """Name the file."""
        super().__init__(location)
        self.location = location


class CannotReadError(Exception):
    """The rows cannot be read for another reason than that a file is missing."""


class Rows(Protocol):
    """The rows of a table's snapshots."""

    def difference(self, before_id: int | None, after_id: int) -> Difference:
        """Return how the live files of two snapshots differ (None: from those of an empty table).

        Raises:
            MissingFileError: a manifest or manifest list is not there.
            CannotReadError: they cannot be read.
        """
        ...

    def missing(self, files: Sequence[LiveFile]) -> list[str]:
        """Return the locations of those data and delete files that are not there."""
        ...

    def read(self, snapshot_id: int, file: LiveFile) -> pa.Table:
        """Return the live rows of a file of that snapshot.

        Raises:
            MissingFileError: the file is not there.
            CannotReadError: it cannot be read.
        """
        ...

    def matching(self, rows: pa.Table, condition: BooleanExpression) -> pa.Table:
        """Return the rows for which the condition is true.

        Raises:
            CannotReadError: the condition does not fit the table's columns of today.
        """
        ...
