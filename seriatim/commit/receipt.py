"""What a call did: the values it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Winner:
    """The commit that an attempt lost to, as far as its snapshot tells."""

    snapshot_id: int
    operation_ids: tuple[str, ...]
    run_id: str | None  # None: the commit does not name a run (it is not one of ours, or ran outside Dagster)


@dataclass(frozen=True, slots=True)
class Conflict:
    """One attempt that lost: its base had moved when it wanted to commit.

    `attempt` counts from 1. `wasted_s` is the time spent on the attempt, from its load until the loss was known.
    """

    event_id: str
    table: str
    operation_ids: tuple[str, ...]
    attempt: int
    expected_snapshot_id: int | None  # None: the table was empty when it was read
    actual_snapshot_id: int | None  # None: the table is empty now
    winner: Winner | None  # None: the table moved without a new snapshot (a schema change, a rollback)
    wasted_s: float
    occurred_at_ms: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """What landed, where, on which base and at what price.

    `operation_ids` names every operation of the call: the ids, the partitions', the stream's step.
    `already_applied` maps those that had landed before this call to the snapshot that applied them (None: it is no
    longer known which; of a stream, the snapshot that brought it to where it is).
    When all had, or there was nothing to write, `snapshot_ids` is empty and the table was not touched.
    """

    table: str
    operation_ids: tuple[str, ...]
    base_snapshot_id: int | None  # None: the table was empty
    snapshot_ids: tuple[int, ...]
    attempts: int
    conflicts: tuple[Conflict, ...] = ()
    already_applied: Mapping[str, int | None] = field(default_factory=dict)
    rows_written: int = 0  # by `apply`: rows of the change, without those that were only carried over to another file
    rows_removed: int = 0
    files_added: int = 0
    files_removed: int = 0
    rebases: int = 0
    waited_s: float = 0.0  # for turns, and in pauses after conflicts
    queued_s: float = 0.0  # of these: for turns
    took_s: float = 0.0  # the whole call, waiting included

    @property
    def head_snapshot_id(self) -> int | None:
        """The snapshot that the call left the branch at: its own, or the one that it found (None: an empty table)."""
        return self.snapshot_ids[-1] if self.snapshot_ids else self.base_snapshot_id

    @property
    def is_noop(self) -> bool:
        """Whether this call left the table as it was."""
        return not self.snapshot_ids

    @property
    def wasted_s(self) -> float:
        """Seconds spent on attempts that lost."""
        return sum(conflict.wasted_s for conflict in self.conflicts)
