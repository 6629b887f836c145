"""The declared invariants, judged after every commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from seriatim.audit.invariants import Bounds, ConstantSum, Invariant, SumsAsRecorded, UniqueKey
from seriatim.audit.landed import Landed
from seriatim.audit.limits import Limits
from seriatim.audit.row_changes import RowChange, shown
from seriatim.audit.totals import Total, is_equal, minus
from seriatim.audit.trackers import KeyTracker, SumTracker, outside
from seriatim.audit.verdict import SHOWN_ROWS_MAX, Findings, Kind
from seriatim.audit.window import Window

Tables = Callable[[], Iterator[pa.Table]]


@dataclass(slots=True)
class Promises:
    """What the table's owner declares, and what must be remembered to judge it."""

    findings: Findings
    invariants: Sequence[Invariant]
    keys: Sequence[str]  # by which a row is known; empty: by nothing
    window: Window
    limits: Limits
    _trackers: dict[Invariant, KeyTracker | SumTracker] = field(default_factory=dict)
    _has_begun: bool = False  # Whether there is a state that sums can be compared with.

    def __post_init__(self) -> None:
        """Begin with an empty table."""
        self._reset()

    def begin(self, commit: Landed, rows: Tables) -> None:
        """Take the rows after a commit as they are; what must hold of any state must hold of them."""
        self._reset()
        for invariant in self.invariants:
            match invariant:
                case UniqueKey():
                    self._judge_keys(commit, invariant, rows, lambda: iter(()))
                case ConstantSum() | SumsAsRecorded():
                    self._sum(invariant).update(rows(), ())
                case Bounds():
                    self._judge_bounds(commit, invariant, rows)
        self._has_begun = True

    def judge(self, commit: Landed, change: RowChange | None, added: Tables, removed: Tables) -> None:
        """Judge the state after a commit."""
        for invariant in self.invariants:
            match invariant:
                case UniqueKey():
                    self._judge_keys(commit, invariant, added, removed)
                case ConstantSum():
                    self._judge_constant(commit, invariant, change, added, removed)
                case SumsAsRecorded():
                    self._judge_sums(commit, invariant, change, added, removed)
                case Bounds():
                    self._judge_bounds(commit, invariant, added)
        if commit.recorded is None and not self.invariants and self._has_begun and not _is_harmless(change):
            self.findings.leave("it is none of Seriatim's, and no invariant is declared", commit.snapshot_ids)
        self._has_begun = True

    def _judge_keys(self, commit: Landed, invariant: UniqueKey, added: Tables, removed: Tables) -> None:
        tracker = self._trackers[invariant]
        assert isinstance(tracker, KeyTracker)
        if tracker.is_full:
            return
        grown = tracker.update(added(), removed())
        if tracker.is_full:
            why = f"from here on, whether {invariant}: the table has more than {self.limits.keys_max:,} keys"
            self.findings.leave(why, commit.snapshot_ids)
        if grown:
            rows = tuple(f"{dict(zip(invariant.columns, key, strict=True))}: {count} rows" for key, count in grown)
            what = f"{len(grown)} key(s) belong to several rows, though {invariant}"
            witness = rows[:SHOWN_ROWS_MAX]
            names = commit.operation_ids
            self.findings.accuse(Kind.DUPLICATE_KEY, what, commit.snapshot_ids, names, witness, (invariant,))

    def _judge_constant(
        self, commit: Landed, invariant: ConstantSum, change: RowChange | None, added: Tables, removed: Tables
    ) -> None:
        tracker = self._sum(invariant)
        before = tracker.total
        moved = tracker.update(added(), removed())
        if not self._has_begun or is_equal(moved, 0, scale=before):
            return
        what = f"the sum of {invariant.column} went from {before} to {tracker.total}, though it is constant"
        self._accuse(commit, invariant, change, what, minus(0, moved), Kind.BROKEN_INVARIANT)

    def _judge_sums(
        self, commit: Landed, invariant: SumsAsRecorded, change: RowChange | None, added: Tables, removed: Tables
    ) -> None:
        tracker, column = self._sum(invariant), invariant.column
        before = tracker.total
        moved = tracker.update(added(), removed())
        declared = commit.recorded.sums.get(column) if commit.recorded is not None else None
        if declared is None and not self._has_begun:
            return  # Whoever fills an empty table sets what is counted from.
        if commit.recorded is None:
            declared = 0
        if declared is None and not is_equal(moved, 0, scale=before):
            why = f"it moves the sum of {column} by {moved}, and does not record by how much it means to"
            self.findings.leave(why, commit.snapshot_ids, commit.operation_ids)
        if declared is None or is_equal(moved, declared, scale=before):
            return
        what = f"it moves the sum of {column} by {moved} (from {before}), and records {declared}"
        is_multiple = bool(declared) and any(is_equal(moved, declared * times) for times in (2, 3, 4))
        kind = Kind.DOUBLE_APPLY if is_multiple else Kind.FALSE_RECORD
        self._accuse(commit, invariant, change, what, minus(declared, moved), kind)

    def _accuse(
        self,
        commit: Landed,
        invariant: ConstantSum | SumsAsRecorded,
        change: RowChange | None,
        what: str,
        mismatch: Total,
        otherwise: Kind,
    ) -> None:
        """Find out whether an older state explains a sum that is off, and name it accordingly."""
        ids, names = commit.snapshot_ids, commit.operation_ids
        rows = (*shown(change.gone, "went: "), *shown(change.come, "came: ")) if change is not None else ()
        found = (
            self.window.stale_source(change, self.keys, invariant.column, mismatch)
            if change and self.keys and commit.recorded
            else None
        )
        if found is not None:
            source, stale = found
            if self.findings.has(Kind.LOST_UPDATE, (source, *ids)):
                self.findings.also_breaks(invariant)  # What it overwrote has told it already.
                return
            what += f"; it was computed from what the rows were before snapshot {source}"
            self.findings.accuse(Kind.LOST_UPDATE, what, (source, *ids), names, stale, (invariant,))
            return
        kind = Kind.FOREIGN_WRITE if commit.recorded is None else otherwise
        self.findings.accuse(kind, what, ids, names, rows, (invariant,))

    def _judge_bounds(self, commit: Landed, invariant: Bounds, added: Tables) -> None:
        if (found := outside(invariant, added())) is None:
            return
        kind = Kind.FOREIGN_WRITE if commit.recorded is None else Kind.BROKEN_INVARIANT
        what = f"{found.num_rows} row(s) are out of bounds, which are {invariant}"
        self.findings.accuse(kind, what, commit.snapshot_ids, commit.operation_ids, shown(found), (invariant,))

    def _sum(self, invariant: ConstantSum | SumsAsRecorded) -> SumTracker:
        tracker = self._trackers[invariant]
        assert isinstance(tracker, SumTracker)
        return tracker

    def _reset(self) -> None:
        self._trackers.clear()
        for invariant in self.invariants:
            match invariant:
                case UniqueKey():
                    self._trackers[invariant] = KeyTracker(invariant, self.limits.keys_max)
                case ConstantSum() | SumsAsRecorded():
                    self._trackers[invariant] = SumTracker(invariant.column)
                case Bounds():
                    pass


def _is_harmless(change: RowChange | None) -> bool:
    """Whether no row changed, which it was possible to see."""
    return change is None or (change.come.num_rows, change.gone.num_rows) == (0, 0)
