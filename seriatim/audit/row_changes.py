"""Which rows a commit really changed: those that its files hold and its parent's do not, and the other way round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from seriatim.audit.verdict import SHOWN_ROWS_MAX
from seriatim.commit.selection import hashable

_COUNT: Final = "__seriatim_count"
_ROW: Final = "__seriatim_row"

_FEW_ROWS: Final = 10_000  # To start threads for fewer takes longer than to do without.

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RowChange:
    """The rows that came and went with one commit; a row that was only written again is in neither."""

    snapshot_id: int
    place: int  # of the commit's last snapshot in the lineage
    come: pa.Table
    gone: pa.Table

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return int(self.come.nbytes + self.gone.nbytes)


def net(added: Sequence[pa.Table], removed: Sequence[pa.Table]) -> tuple[pa.Table, pa.Table] | None:
    """Return the rows that came and those that went, each as often as it did; None: there were none at all."""
    counted = [(rows, 1) for rows in added if rows.num_rows] + [(rows, -1) for rows in removed if rows.num_rows]
    if not counted:
        return None
    rows = pa.concat_tables([rows for rows, _ in counted])
    signs = pa.chunked_array([pa.array([sign] * rows.num_rows, pa.int64()) for rows, sign in counted])
    names = rows.column_names
    numbered = comparable(rows).append_column(_COUNT, signs).append_column(_ROW, pa.array(range(rows.num_rows)))
    groups = numbered.group_by(names, use_threads=rows.num_rows > _FEW_ROWS).aggregate([(_COUNT, "sum"), (_ROW, "min")])
    changed = groups.filter(pc.not_equal(groups[f"{_COUNT}_sum"], 0))
    counts, first = changed[f"{_COUNT}_sum"].to_pylist(), changed[f"{_ROW}_min"].to_pylist()
    come = [row for row, count in zip(first, counts, strict=True) for _ in range(count)]
    gone = [row for row, count in zip(first, counts, strict=True) for _ in range(-count)]
    return rows.take(pa.array(come, pa.int64())), rows.take(pa.array(gone, pa.int64()))


def comparable(rows: pa.Table) -> pa.Table:
    """Return the rows with values that Arrow can group by: nested ones as text."""
    for number, column in enumerate(rows.schema):
        if pa.types.is_nested(column.type):
            texts = pa.array(
                [None if value is None else repr(value) for value in rows[number].to_pylist()], pa.string()
            )
            rows = rows.set_column(number, column.name, texts)
    return hashable(rows).rename_columns(rows.column_names)


def keys_of(rows: pa.Table, columns: Sequence[str]) -> Iterator[Key]:
    """Yield the key of each row."""
    return zip(*(rows[name].to_pylist() for name in columns), strict=True)


def shared(one: pa.Table, other: pa.Table) -> pa.Table:
    """Return the rows of `one` that `other` has, too."""
    names = one.column_names
    known = set(keys_of(comparable(other), names))
    mask = [key in known for key in keys_of(comparable(one), names)]
    return one.filter(pa.array(mask, pa.bool_()))


def shown(rows: pa.Table, sign: str = "") -> tuple[str, ...]:
    """Return the first few rows as texts."""
    few = rows.slice(0, SHOWN_ROWS_MAX)
    texts = [sign + ", ".join(f"{name}={value!r}" for name, value in row.items()) for row in few.to_pylist()]
    return (*texts, f"{sign}... {rows.num_rows - SHOWN_ROWS_MAX} more") if rows.num_rows > SHOWN_ROWS_MAX else (*texts,)
