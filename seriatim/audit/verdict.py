"""What the judge says: anomalies by name, each with a witness; what cannot be judged; what was looked at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from seriatim.audit.invariants import Invariant

_FOUND_MAX: Final = 1_000
SHOWN_ROWS_MAX: Final = 5


class Kind(Enum):
    """The anomalies; docs/audit.md says of each what the evidence is and what cannot be seen."""

    LOST_UPDATE = "lost update"
    DOUBLE_APPLY = "double apply"
    WRITE_SKEW = "write skew"
    TORN_COMMIT = "torn commit"
    GHOST_COMMIT = "ghost commit"
    MISSING_FILE = "missing file"
    DUPLICATE_KEY = "duplicate key"
    WATERMARK_REGRESSION = "watermark regression"
    CUT_HISTORY = "cut history"
    FOREIGN_WRITE = "foreign write"
    BROKEN_INVARIANT = "broken invariant"
    FALSE_RECORD = "false record"


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something that no serial order of the commits explains, and who can bear witness to it."""

    kind: Kind
    what: str  # one sentence, with the values
    snapshot_ids: tuple[int, ...]  # the last one is where it shows
    operation_ids: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()  # the first few rows that show it
    invariants: tuple[Invariant, ...] = ()  # the declared ones that it breaks


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Something of which it cannot be said whether it is right."""

    why: str
    snapshot_ids: tuple[int, ...]
    operation_ids: tuple[str, ...] = ()


class Status(Enum):
    """What an audit comes to."""

    CLEAN = "clean"
    ANOMALIES = "anomalies"
    CANNOT_BE_JUDGED = "cannot be judged"


@dataclass(frozen=True, slots=True)
class JudgedCommit:
    """One commit of the timeline."""

    snapshot_ids: tuple[int, ...]
    committed_at_ms: int
    operation: str | None
    commit_id: str | None  # None: it is not one of Seriatim
    made_by: str | None  # the run, or the engine; None: it does not say
    operation_ids: tuple[str, ...]
    base_snapshot_id: int | None
    rows: tuple[int, int] | None  # that came and went; None: they were not looked at


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an audit of one branch found."""

    table: str
    branch: str
    head_snapshot_id: int | None  # None: the branch is empty
    judged_from_snapshot_id: int | None  # the state that everything after is judged against; None: an empty table
    snapshots: int  # that were judged
    commits: tuple[JudgedCommit, ...]  # oldest first
    anomalies: tuple[Anomaly, ...]
    unjudged: tuple[Unjudged, ...]
    notes: tuple[str, ...]
    anomalies_left_out: int = 0  # beyond the bound
    unjudged_left_out: int = 0

    @property
    def status(self) -> Status:
        """Say it in one word; what cannot be judged is never clean."""
        if self.anomalies:
            return Status.ANOMALIES
        return Status.CANNOT_BE_JUDGED if self.unjudged else Status.CLEAN


@dataclass(slots=True)
class Findings:
    """What has been found so far, within bounds."""

    anomalies: list[Anomaly] = field(default_factory=list)
    unjudged: list[Unjudged] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    anomalies_left_out: int = 0
    unjudged_left_out: int = 0

    def accuse(
        self,
        kind: Kind,
        what: str,
        snapshot_ids: tuple[int, ...],
        operation_ids: tuple[str, ...] = (),
        rows: tuple[str, ...] = (),
        invariants: tuple[Invariant, ...] = (),
    ) -> None:
        """Note an anomaly."""
        if len(self.anomalies) < _FOUND_MAX:
            self.anomalies.append(Anomaly(kind, what, snapshot_ids, operation_ids, rows, invariants))
        else:
            self.anomalies_left_out += 1

    def has(self, kind: Kind, snapshot_ids: tuple[int, ...]) -> bool:
        """Tell whether the anomaly that was noted last is this one."""
        return any((each.kind, each.snapshot_ids) == (kind, snapshot_ids) for each in self.anomalies[-1:])

    def also_breaks(self, invariant: Invariant) -> None:
        """Note of the anomaly that was noted last that it breaks this invariant, too."""
        last = self.anomalies[-1]
        self.anomalies[-1] = replace(last, invariants=(*last.invariants, invariant))

    def leave(self, why: str, snapshot_ids: tuple[int, ...], operation_ids: tuple[str, ...] = ()) -> None:
        """Note that something cannot be judged."""
        if len(self.unjudged) < _FOUND_MAX:
            self.unjudged.append(Unjudged(why, snapshot_ids, operation_ids))
        else:
            self.unjudged_left_out += 1
