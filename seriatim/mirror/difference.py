"""What a Delta version changes of the files that are live in its mirror."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyiceberg.table.snapshots import Operation

from seriatim.mirror.delta.actions import AddFile, Commit, State
from seriatim.mirror.live import LiveFile


@dataclass(slots=True)
class Difference:
    """The files of one step, before they are put into Iceberg's terms."""

    added: list[AddFile] = field(default_factory=list)
    removed: list[LiveFile] = field(default_factory=list)
    redeleted: list[tuple[LiveFile, AddFile]] = field(default_factory=list)  # the same file, with other rows deleted
    is_data_change: bool = True  # False: Delta says that the rows are what they were

    @property
    def operation(self) -> Operation:
        """Return Iceberg's word for it: a reader that follows appends must see every new row, and none twice."""
        if not self.is_data_change and (self.removed or self.redeleted):
            return Operation.REPLACE
        if not (self.removed or self.redeleted):
            return Operation.APPEND
        takes_away_only = all(before.deletes is None for before, _ in self.redeleted)
        return Operation.DELETE if takes_away_only and not self.added else Operation.OVERWRITE


def of_commit(live: Mapping[str, LiveFile], commit: Commit) -> Difference:
    """Return what a commit changes.

    A file is identified by its location and its deletion vector (Delta protocol, "Action Reconciliation"). One that is
    added though it is there is the same file with other statistics; one that is removed though it is not there was
    removed before. Neither changes anything.
    """
    wanted: dict[str, AddFile | None] = {}
    for remove in commit.removes:
        there = live.get(remove.path)
        if there is not None and there.has(remove.deletion_vector):
            wanted[remove.path] = None
    wanted.update((add.path, add) for add in commit.adds)
    is_data_change = any(add.data_change for add in commit.adds) or any(gone.data_change for gone in commit.removes)
    return _difference(live, wanted.items(), is_data_change)


def of_state(live: Mapping[str, LiveFile], state: State) -> Difference:
    """Return what makes the live files those of a state, whatever came between."""
    wanted: dict[str, AddFile | None] = dict.fromkeys(live)
    wanted.update((add.path, add) for add in state.files.values())
    return _difference(live, wanted.items(), is_data_change=True)


def _difference(
    live: Mapping[str, LiveFile], wanted: Iterable[tuple[str, AddFile | None]], is_data_change: bool
) -> Difference:
    difference = Difference(is_data_change=is_data_change)
    for path, add in wanted:
        there = live.get(path)
        if there is None and add is not None:
            difference.added.append(add)
        elif there is not None and add is None:
            difference.removed.append(there)
        elif there is not None and add is not None and not there.has(add.deletion_vector):
            difference.redeleted.append((there, add))
    return difference
