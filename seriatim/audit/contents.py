"""What can be judged from the rows: totals, files, rows and sums as recorded, invariants, and what overtook a commit.

Only the files that differ from one snapshot to the next are read. What is kept in memory has bounds: the rows of one
commit's files, the changes of the last commits, and the keys of a table whose key is declared unique.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from seriatim.audit.dependence import judge_overtaken
from seriatim.audit.invariants import Invariant, UniqueKey
from seriatim.audit.landed import Landed
from seriatim.audit.limits import Limits
from seriatim.audit.past import CannotReadError, Difference, LiveFile, MissingFileError, Rows, Step
from seriatim.audit.promises import Promises
from seriatim.audit.records import Overtaken
from seriatim.audit.row_changes import RowChange, net, shown
from seriatim.audit.verdict import Findings, Kind
from seriatim.audit.window import Window


@dataclass(slots=True)
class Contents:
    """Judges commit after commit, oldest first."""

    rows: Rows
    findings: Findings
    invariants: Sequence[Invariant]
    identifier: Sequence[str]  # the columns of the table's identifier; empty: it has none
    limits: Limits
    _promises: Promises = field(init=False)
    _window: Window = field(default_factory=Window)
    _is_known: bool = True  # False: something could not be read, so that nothing can be compared with it
    _counts: tuple[int, int] = (0, 0)  # data files and their records
    _missing: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Begin with an empty table."""
        unique = next((each.columns for each in self.invariants if isinstance(each, UniqueKey)), ())
        keys = unique or tuple(self.identifier)
        self._promises = Promises(self.findings, self.invariants, keys, self._window, self.limits)

    def begin(self, commit: Landed, place: int) -> None:
        """Take the state after a commit as what the later ones are judged against."""
        step = commit.last
        self._window.reset(place)
        try:
            difference = self.rows.difference(None, step.snapshot_id)
            self._note_missing(step, difference.added)
            files = [file for file in difference.added if not self._is_missing(file)]
            self._counts = (len(difference.added), sum(file.records for file in difference.added))
            self._judge_counts(step, (0, 0), (0, 0), self._counts)
            self._promises.begin(commit, lambda: self._tables(step, files))
            self._is_known = True
        except (MissingFileError, CannotReadError) as err:
            self._lose(commit, err)

    def judge(self, commit: Landed, place: int, overtaken: Overtaken | None) -> tuple[int, int] | None:
        """Judge one commit; return how many rows came and went (None: it could not be seen)."""
        if not self._is_known:
            self.begin(commit, place)
            return None
        try:
            difference = self._differences(commit)
            for file in (*difference.added, *difference.removed):
                if self._is_missing(file):
                    raise MissingFileError(file.location)
            return self._judge_rows(commit, place, overtaken, difference)
        except (MissingFileError, CannotReadError) as err:
            self._lose(commit, err)
            return None

    def _judge_rows(
        self, commit: Landed, place: int, overtaken: Overtaken | None, difference: Difference
    ) -> tuple[int, int] | None:
        count = sum(file.records for file in (*difference.added, *difference.removed))
        if count > self.limits.rows_max:
            why = f"its files hold {count:,} rows, more than {self.limits.rows_max:,} are compared at once"
            self.findings.leave(why, commit.snapshot_ids, commit.operation_ids)
            self._window.reset(place)
            added_now, removed_now = (
                partial(self._added, commit, difference),
                partial(self._removed, commit, difference),
            )
            self._promises.judge(commit, None, added_now, removed_now)
            return None
        added, removed_tables = list(self._added(commit, difference)), list(self._removed(commit, difference))
        changed = net(added, removed_tables)
        change = RowChange(commit.last.snapshot_id, place, *changed) if changed is not None else None
        has_files = bool(difference.added or difference.removed)
        rows = (change.come.num_rows, change.gone.num_rows) if change is not None else (0, 0)
        self._judge_recorded_rows(commit, change, rows, has_files=has_files)
        if overtaken is not None:
            self._judge_overtaken(commit, overtaken, change)
        self._promises.judge(
            commit,
            change,
            lambda: iter([change.come] if change is not None else []),
            lambda: iter([change.gone] if change is not None else []),
        )
        if change is not None:
            self._window.add(change)
        return rows

    def _judge_recorded_rows(
        self, commit: Landed, change: RowChange | None, rows: tuple[int, int], *, has_files: bool
    ) -> None:
        recorded, ids, names = commit.recorded, commit.snapshot_ids, commit.operation_ids
        if all(step.operation == "replace" for step in commit.steps) and rows != (0, 0):
            kind = Kind.FOREIGN_WRITE if recorded is None else Kind.FALSE_RECORD
            assert change is not None
            witness = (*shown(change.gone, "went: "), *shown(change.come, "came: "))
            self.findings.accuse(kind, "a `replace`, which must keep every row, changed rows", ids, names, witness)
        if recorded is None or recorded.rows_added is None or recorded.rows_removed is None or commit.parts[:1] > (1,):
            return
        said = f"+{recorded.rows_added} -{recorded.rows_removed}"
        if not has_files and (recorded.rows_added or recorded.rows_removed):
            what = f"it records {said} rows, and changed no file"
            self.findings.accuse(Kind.GHOST_COMMIT, what, ids, names)
            return
        come, gone = rows
        is_true = come - gone == recorded.rows_added - recorded.rows_removed
        if not is_true or come > recorded.rows_added or gone > recorded.rows_removed:
            witness = (*shown(change.gone, "went: "), *shown(change.come, "came: ")) if change is not None else ()
            what = f"it records {said} rows, and changed +{come} -{gone}"
            self.findings.accuse(Kind.FALSE_RECORD, what, ids, names, witness)

    def _judge_overtaken(self, commit: Landed, overtaken: Overtaken, change: RowChange | None) -> None:
        between = self._window.after(overtaken.since)
        if between is None:
            why = "what came between its base and what it landed on is too much, or too long ago, to be compared"
            self.findings.leave(why, commit.snapshot_ids, commit.operation_ids)
            return
        judge_overtaken(
            self.rows,
            self.findings,
            commit,
            overtaken,
            own=change,
            between=between,
            key_columns=self._promises.keys,
        )

    def _differences(self, commit: Landed) -> Difference:
        """Compare snapshot by snapshot, and return all that came or went; the rows of what did both cancel out."""
        added: list[LiveFile] = []
        removed: list[LiveFile] = []
        before = commit.parent
        for step in commit.steps:
            difference = self.rows.difference(before.snapshot_id if before is not None else None, step.snapshot_id)
            self._note_missing(step, difference.added)
            was = self._counts
            self._counts = (
                was[0] + len(difference.added) - len(difference.removed),
                was[1] + _records(difference.added) - _records(difference.removed),
            )
            self._judge_counts(step, _totals(before), was, self._counts)
            added.extend(difference.added)
            removed.extend(difference.removed)
            before = step
        return Difference(tuple(added), tuple(removed))

    def _judge_counts(
        self, step: Step, said_before: tuple[int | None, int | None], was: tuple[int, int], now: tuple[int, int]
    ) -> None:
        """Compare by how much the summary's totals move with what the manifests list."""
        for noun, said, before, count, earlier in zip(
            ("data files", "records"), _totals(step), said_before, now, was, strict=True
        ):
            if said is not None and before is not None and said - before != count - earlier:
                what = f"its summary takes the {noun} from {before} to {said}, and the files from {earlier} to {count}"
                self.findings.accuse(Kind.FALSE_RECORD, what, (step.snapshot_id,), _operations(step))

    def _note_missing(self, step: Step, files: Sequence[LiveFile]) -> None:
        new = [location for location in self.rows.missing(files) if location not in self._missing]
        self._missing.update(new)
        for location in new:
            what = f"{location} is not there, and snapshot {step.snapshot_id} needs it"
            self.findings.accuse(Kind.MISSING_FILE, what, (step.snapshot_id,), _operations(step))

    def _is_missing(self, file: LiveFile) -> bool:
        return file.location in self._missing or not self._missing.isdisjoint(file.deletes)

    def _lose(self, commit: Landed, err: MissingFileError | CannotReadError) -> None:
        """Say that the rows of a commit cannot be read; the next one begins anew."""
        self._is_known = False
        ids = commit.snapshot_ids
        if isinstance(err, MissingFileError) and err.location not in self._missing:
            self._missing.add(err.location)
            what = f"{err.location} is not there, and snapshot {ids[-1]} needs it"
            self.findings.accuse(Kind.MISSING_FILE, what, ids, commit.operation_ids)
        self.findings.leave(f"its rows cannot be read: {err}", ids, commit.operation_ids)

    def _added(self, commit: Landed, difference: Difference) -> Iterator[pa.Table]:
        return self._tables(commit.last, difference.added)

    def _removed(self, commit: Landed, difference: Difference) -> Iterator[pa.Table]:
        return self._tables(commit.parent, difference.removed) if commit.parent is not None else iter(())

    def _tables(self, step: Step, files: Sequence[LiveFile]) -> Iterator[pa.Table]:
        return (self.rows.read(step.snapshot_id, file) for file in files)


def _totals(step: Step | None) -> tuple[int | None, int | None]:
    return (0, 0) if step is None else (step.files_total, step.records_total)


def _records(files: Sequence[LiveFile]) -> int:
    return sum(file.records for file in files)


def _operations(step: Step) -> tuple[str, ...]:
    return step.recorded.operation_ids if step.recorded is not None else ()
