"""The snapshots of a lineage, put together to the commits that they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from seriatim.audit.past import Recorded, Step

_RANKS: Final = {"delete": 0, "overwrite": 1, "append": 2}  # The order in which PyIceberg's `overwrite` makes them.


@dataclass(frozen=True, slots=True)
class Landed:
    """One commit: its snapshots, oldest first, and the snapshot that it landed on."""

    steps: tuple[Step, ...]
    parent: Step | None  # None: it is the first of what is left

    @property
    def last(self) -> Step:
        """The snapshot after which everything that it did is there."""
        return self.steps[-1]

    @property
    def recorded(self) -> Recorded | None:
        """What it says of itself; None: it is not one of Seriatim."""
        return self.last.recorded

    @property
    def snapshot_ids(self) -> tuple[int, ...]:
        """Its snapshots."""
        return tuple(step.snapshot_id for step in self.steps)

    @property
    def operation_ids(self) -> tuple[str, ...]:
        """What it applied."""
        return self.recorded.operation_ids if self.recorded is not None else ()

    @property
    def parts(self) -> tuple[int, ...]:
        """Which parts of the commit they say to be; none where they do not say it."""
        return tuple(step.recorded.part[0] for step in self.steps if step.recorded and step.recorded.part)

    @property
    def is_mirrored(self) -> bool:
        """Whether its snapshots are versions of a Delta table."""
        return all(step.mirrored is not None for step in self.steps)

    @property
    def is_complete(self) -> bool:
        """Whether everything that it did is there; otherwise it counts as not applied."""
        return self.recorded is None or self.recorded.part is None or self.recorded.part[0] == self.recorded.part[1]


def landed(steps: Sequence[Step]) -> Iterator[Landed]:
    """Yield the commits, oldest first. A commit that lands twice is two."""
    group: list[Step] = []
    parent: Step | None = None
    for step in steps:
        if group and not _continues(group[-1], step):
            yield Landed(tuple(group), parent)
            parent, group = group[-1], []
        group.append(step)
    if group:
        yield Landed(tuple(group), parent)


def _continues(before: Step, step: Step) -> bool:
    """Whether two neighbours belong to one commit.

    Ours numbers its snapshots. PyIceberg's `overwrite` does not: it makes a delete, an overwrite and an append at most,
    in this order, which nothing tells from several commits. So such neighbours of one writer count as one commit.
    """
    one, other = before.recorded, step.recorded
    if (one is None) != (other is None) or before.damage is not None or step.damage is not None:
        return False
    if one is not None and other is not None:
        if one.commit_id != other.commit_id:
            return False
        if one.part is not None and other.part is not None:
            return other.part[0] > one.part[0]
        if one.part is not None or other.part is not None:
            return False
    return _RANKS.get(before.operation or "", 2) < _RANKS.get(step.operation or "", -1)
