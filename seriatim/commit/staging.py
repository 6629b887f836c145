"""Writes the files of a change: what it adds, and what is left of the files that it takes rows from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import AlwaysFalse, BooleanExpression, Or
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata

from seriatim.commit import private
from seriatim.commit.arrow_schemas import arrow_schema
from seriatim.commit.base_files import BaseFiles
from seriatim.commit.edits import Step
from seriatim.commit.nan_counts import with_nan_counts
from seriatim.commit.plain_files import write_plain
from seriatim.commit.selection import Keys
from seriatim.commit.sorting import in_order, marked
from seriatim.errors import InvalidChangeError, RowNotFoundError
from seriatim.system import new_id

_HELD_BYTES_MAX = 64 * 1024 * 1024  # Rows that wait to share a file with others; beyond it they get their own.


@dataclass(frozen=True, slots=True)
class Staged:
    """A change as files that no snapshot has yet."""

    added: tuple[DataFile, ...] = ()
    removed: tuple[DataFile, ...] = ()
    rows_added: int = 0  # rows of the change, without those that were only carried over
    rows_removed: int = 0  # rows of the table that are there no more
    is_rewritten: bool = False  # the same rows in other files: a compaction

    @property
    def locations(self) -> tuple[str, ...]:
        """Where the files are that were written for it."""
        return tuple(file.file_path for file in self.added)


def covering(steps: Sequence[Step]) -> BooleanExpression:
    """Return a condition that holds for every row that the steps take away."""
    conditions = [step.selection.covering() for step in steps if step.selection is not None]
    if len(conditions) < 2:
        return conditions[0] if conditions else AlwaysFalse()
    return Or(*conditions)  # A balanced tree, which hundreds of edits do not make too deep.


class Stage:
    """One change being written."""

    def __init__(
        self,
        name: str,
        table: Table,
        io: FileIO,
        snapshot_id: int | None,
        steps: Sequence[Step],
        files: BaseFiles,
        before_writing: Callable[[], None] | None = None,
    ) -> None:
        """Write through `io` what the steps make of that snapshot of the loaded table (None: it has none).

        `files` are those of the table. `before_writing` is called before the first file is written, and may raise.
        """
        self._name, self._table, self._io, self._snapshot_id, self._steps = name, table, io, snapshot_id, steps
        self._files, self._before_writing = files, before_writing
        self._written: list[DataFile] = []
        self._removed: list[DataFile] = []
        self._rows_removed = 0
        self._selected: list[list[pa.Table]] = [[] for _ in steps]  # what each step took away, where that matters

    def run(self) -> Staged:
        """Write the files of the steps.

        Raises:
            RowNotFoundError: a key that must have a row has none; what was written already is the caller's to remove.
        """
        held = list(self._rows_left())
        new = self._rows_added()
        self._require_keys()
        self._write([*held, *new])
        rows_added = sum(rows.num_rows for rows in new)
        return Staged(tuple(self._written), tuple(self._removed), rows_added, self._rows_removed)

    def _rows_left(self) -> Iterator[pa.Table]:
        """Yield what is left of each file that loses rows; what is too large to wait for company is written at once."""
        condition = covering(self._steps)
        if condition == AlwaysFalse():
            return
        for task in self._files.holding(self._snapshot_id, condition):
            rows = self._files.rows(self._table.schema(), [task])
            left = self._left_of(rows, first_step=0)
            if left.num_rows == rows.num_rows:
                continue
            self._removed.append(task.file)
            self._rows_removed += rows.num_rows - left.num_rows
            if left.nbytes > _HELD_BYTES_MAX:
                self._write([left])
            elif left.num_rows:
                yield left

    def _rows_added(self) -> list[pa.Table]:
        """Return what the steps add, without what later steps take away again."""
        added = [self._left_of(step.rows, first_step=number + 1) for number, step in enumerate(self._steps)]
        return [rows for rows in added if rows.num_rows]

    def _left_of(self, rows: pa.Table, *, first_step: int) -> pa.Table:
        for number, step in enumerate(self._steps[first_step:], first_step):
            if step.selection is None or rows.num_rows == 0:
                continue
            mask = step.selection.mask(rows)
            if step.must_exist and isinstance(step.selection, Keys):
                self._selected[number].append(rows.filter(mask).select(step.selection.keys.column_names))
            rows = rows.filter(pc.invert(mask))
        return rows

    def _require_keys(self) -> None:
        for step, selected in zip(self._steps, self._selected, strict=True):
            if step.must_exist and isinstance(step.selection, Keys):
                absent = step.selection.absent_from(selected)
                if absent.num_rows:
                    key = absent.slice(0, 1).to_pylist()[0]
                    raise RowNotFoundError(self._name, key=next(iter(key.values())) if len(key) == 1 else key)

    def _write(self, rows: Sequence[pa.Table]) -> None:
        if rows:
            if self._before_writing is not None and not self._written:
                self._before_writing()
            self._written.extend(write_rows(self._name, self._table.metadata, self._io, rows))


def write_rows(name: str, metadata: TableMetadata, io: FileIO, rows: Sequence[pa.Table]) -> tuple[DataFile, ...]:
    """Write rows, in the table's order, to new data files of its current partition spec.

    Raises:
        InvalidChangeError: PyIceberg cannot write them into partitions; what was written is the caller's to remove.
    """
    schema = arrow_schema(metadata.schema())
    together = in_order(metadata, pa.concat_tables([each.cast(schema) for each in rows]))
    _require_partitions(name, metadata, together)
    made = write_plain(metadata, io, together, new_id())
    files = made if made is not None else private.write_files(metadata, io, together, new_id())
    written = tuple(with_nan_counts(metadata, io, together, marked(metadata, files)))
    if (count := sum(file.record_count for file in written)) != together.num_rows:
        raise InvalidChangeError(
            f"{name}: PyIceberg wrote {count} rows of {together.num_rows}: it lost or doubled some "
            f"while it sorted them into partitions. Nothing was committed; partition the table by another column."
        )
    return written


def _require_partitions(name: str, metadata: TableMetadata, rows: pa.Table) -> None:
    """Refuse NaN where it would name a partition: PyIceberg looks for the rows of it, and finds none."""
    for field in metadata.spec().fields:
        column = metadata.schema().find_column_name(field.source_id)
        if column not in rows.column_names or not pa.types.is_floating(rows[column].type):
            continue
        if pc.any(pc.is_nan(rows[column])).as_py():
            raise InvalidChangeError(
                f"{name}: a row has {column}=NaN, and {column} is a partition; PyIceberg cannot write "
                f"that. Nothing was committed; change the value, or partition the table by another column."
            )
