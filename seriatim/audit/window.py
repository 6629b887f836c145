"""The last few commits' row changes: what came between two commits, and what rows were like before."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from seriatim.audit.row_changes import Key, RowChange, keys_of
from seriatim.audit.totals import Total, is_equal, minus, plus

_CHANGES_MAX: Final = 100
_BYTES_MAX: Final = 64 * 1024 * 1024


@dataclass(slots=True)
class Window:
    """Row changes, oldest first; without a gap from `since` on."""

    since: int = -1  # the place in the lineage after which every change is known
    changes: deque[RowChange] = field(default_factory=deque)
    nbytes: int = 0

    def add(self, change: RowChange) -> None:
        """Take one in, and forget the oldest beyond the bounds."""
        self.changes.append(change)
        self.nbytes += change.nbytes
        while len(self.changes) > _CHANGES_MAX or (self.nbytes > _BYTES_MAX and len(self.changes) > 1):
            oldest = self.changes.popleft()
            self.nbytes -= oldest.nbytes
            self.since = oldest.place

    def reset(self, since: int) -> None:
        """Forget everything: what happened up to that place is not known."""
        self.changes.clear()
        self.since, self.nbytes = since, 0

    def after(self, place: int) -> list[RowChange] | None:
        """Return the changes after that place; None: not all of them are known any more."""
        return [change for change in self.changes if change.place > place] if place >= self.since else None

    def stale_source(
        self, change: RowChange, keys: Sequence[str], column: str, mismatch: Total
    ) -> tuple[int, tuple[str, ...]] | None:
        """Return the snapshot that overtook a commit whose total is off by `mismatch`, and the rows that are stale.

        It is found if the commit replaced rows, and would be right had they still been what they were before that
        snapshot: then its values were computed from those older ones. None: no older state explains it.
        """
        written = _values(change.come, keys, column)
        now = {key: value for key, value in _values(change.gone, keys, column).items() if key in written}
        then = dict(now)
        for earlier in reversed(self.changes):
            came, went = _values(earlier.come, keys, column), _values(earlier.gone, keys, column)
            replaced = {key: went[key] for key in came if key in then and key in went}
            if not replaced:
                continue
            then.update(replaced)
            off: Total = 0
            for key, value in now.items():
                off = plus(off, minus(value or 0, then[key] or 0))
            if is_equal(off, mismatch):
                rows = [
                    f"{_key(keys, key)}: {column} was {then[key]!r}, then {now[key]!r}, and was overwritten with "
                    f"{written[key]!r}"
                    for key in now
                    if then[key] != now[key]
                ]
                return earlier.snapshot_id, tuple(rows[:5])
        return None


def _values(rows: pa.Table, keys: Sequence[str], column: str) -> dict[Key, Any]:
    return dict(zip(keys_of(rows, keys), rows[column].to_pylist(), strict=True))


def _key(names: Sequence[str], key: Key) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in zip(names, key, strict=True))
