"""What must be remembered of a table to judge an invariant after every commit from the rows that changed alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from seriatim.audit.invariants import Bounds, UniqueKey
from seriatim.audit.row_changes import Key, comparable, keys_of
from seriatim.audit.totals import Total, plus, total_of


@dataclass(slots=True)
class KeyTracker:
    """How many rows each key has."""

    invariant: UniqueKey
    keys_max: int
    counts: Counter[Key] = field(default_factory=Counter)
    is_full: bool = False  # There are more keys than may be remembered.

    def update(self, added: Iterable[pa.Table], removed: Iterable[pa.Table]) -> list[tuple[Key, int]]:
        """Take the rows in; return the keys that have become those of several rows, with how many."""
        before: dict[Key, int] = {}
        for sign, tables in ((1, added), (-1, removed)):
            for rows in tables:
                for key in keys_of(comparable(rows.select(self.invariant.columns)), self.invariant.columns):
                    before.setdefault(key, self.counts[key])
                    self.counts[key] += sign
            if len(self.counts) > self.keys_max:
                self.is_full = True
                self.counts.clear()
                return []
        grown = [(key, self.counts[key]) for key in before if self.counts[key] > max(1, before[key])]
        for key in before:
            if self.counts[key] == 0:
                del self.counts[key]
        return grown


@dataclass(slots=True)
class SumTracker:
    """The total of a column."""

    column: str
    total: Total = 0

    def update(self, added: Iterable[pa.Table], removed: Iterable[pa.Table]) -> Total:
        """Take the rows in; return by how much the total moved."""
        moved = plus(total_of(added, self.column), -total_of(removed, self.column))
        self.total = plus(self.total, moved)
        return moved


def outside(invariant: Bounds, tables: Iterable[pa.Table]) -> pa.Table | None:
    """Return the first rows found whose value is out of bounds; None: there are none."""
    for rows in tables:
        values = rows[invariant.column]
        is_bad = pa.array([False] * rows.num_rows, pa.bool_())
        if invariant.at_least is not None:
            is_bad = pc.or_(is_bad, pc.fill_null(pc.less(values, invariant.at_least), False))
        if invariant.at_most is not None:
            is_bad = pc.or_(is_bad, pc.fill_null(pc.greater(values, invariant.at_most), False))
        if (found := rows.filter(is_bad)).num_rows:
            return found
    return None
