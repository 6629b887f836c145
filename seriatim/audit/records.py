"""What can be judged from the records alone: wholeness, names applied once, the ledger, and the chain of bases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from seriatim.audit.landed import Landed
from seriatim.audit.past import Past, Recorded, StreamStep
from seriatim.audit.verdict import Findings, Kind
from seriatim.commit.ledger_words import Entry, Page
from seriatim.commit.partitions import operation_id


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Commits came between what a commit was computed from and what it landed on."""

    since: int  # the place in the lineage of what it was computed from; -1: an empty table
    is_recorded: bool  # it says so itself: it was rebased, because nothing that it read had changed


@dataclass(slots=True)
class Records:
    """Judges commit after commit, oldest first, and remembers what was applied."""

    past: Past
    findings: Findings
    _places: dict[int, int] = field(init=False)
    _commits: dict[str, Landed] = field(default_factory=dict)
    _applied: dict[str, int] = field(default_factory=dict)  # operation id -> snapshot
    _watermarks: dict[str, int] = field(default_factory=dict)
    _carried: tuple[str | None, frozenset[str]] | None = None  # ledger file and names after the last page; None: none
    _ghosts: set[int] = field(default_factory=set)
    _mirrored: int | None = None  # the Delta version that came last; None: no mirror so far

    def __post_init__(self) -> None:
        """Number the snapshots."""
        self._places = {step.snapshot_id: number for number, step in enumerate(self.past.steps)}

    def judge(self, commit: Landed) -> Overtaken | None:
        """Judge one commit; return what came between what it was computed from and what it landed on, if it did."""
        recorded = commit.recorded
        if recorded is None:
            return None
        self._judge_wholeness(commit, recorded)
        self._judge_versions(commit)
        self._judge_operations(commit, recorded)
        if recorded.page is not None:
            self._judge_page(commit, recorded.page)
        if recorded.step is not None:
            self._judge_step(commit, recorded.step, recorded.page)
        if recorded.page is not None:
            self._carried = _carried(recorded, is_complete=commit.is_complete)
        return self._overtaken(commit, recorded)

    def _judge_wholeness(self, commit: Landed, recorded: Recorded) -> None:
        ids, names = commit.snapshot_ids, commit.operation_ids
        earlier = self._commits.setdefault(recorded.commit_id, commit)
        parts, count = commit.parts, recorded.part[1] if recorded.part else len(commit.steps)
        if earlier is not commit:
            seen = (*earlier.snapshot_ids, *ids)
            if parts and not set(parts) & set(earlier.parts):
                what = f"others' snapshots lie between the snapshots of commit {recorded.commit_id}"
                self.findings.accuse(Kind.TORN_COMMIT, what, seen, names)
            else:
                what = f"commit {recorded.commit_id} has landed twice"
                self.findings.accuse(Kind.DOUBLE_APPLY, what, seen, names)
            return
        is_first = commit.parent is None and self.past.is_cut  # Its first snapshots may have been expired.
        expected = tuple(range(parts[0] if is_first and parts else 1, count + 1))
        if commit.is_mirrored:  # Each snapshot of a mirror stands for itself: it may be set back to any.
            expected = expected[: len(parts)]
        if parts and parts != expected:
            what = f"of the {count} snapshots of commit {recorded.commit_id} only {_numbers(parts)} are in the history"
            self.findings.accuse(Kind.TORN_COMMIT, what, ids, names)
        if any(step.recorded and step.recorded.operation_ids != recorded.operation_ids for step in commit.steps):
            what = f"the snapshots of commit {recorded.commit_id} name different operations"
            self.findings.accuse(Kind.TORN_COMMIT, what, ids, names)

    def _judge_versions(self, commit: Landed) -> None:
        """Judge that each Delta version of a mirror is there once, after the one before it."""
        for step in commit.steps:
            if step.mirrored is None:
                continue
            first, last = step.mirrored
            before, self._mirrored = self._mirrored, last
            if before is not None and first <= before:
                what = f"Delta version {first} came after version {before}, which is, or follows, the same"
                self.findings.accuse(Kind.DOUBLE_APPLY, what, (step.snapshot_id,), commit.operation_ids)
            elif before is not None and first > before + 1:
                what = f"Delta version {first} came after version {before}, without those between"
                self.findings.accuse(Kind.LOST_UPDATE, what, (step.snapshot_id,), commit.operation_ids)

    def _judge_operations(self, commit: Landed, recorded: Recorded) -> None:
        is_same_commit = self._commits.get(recorded.commit_id) is not commit  # That was said already.
        entries = recorded.page.entries if recorded.page else ()
        before = {name: entry.snapshot_id for entry in entries for name in _names(entry)}
        own: set[str] = set()
        for name in recorded.operation_ids:
            by = self._applied.get(name, before.get(name))
            if name in own:
                what = f"{name} is named twice by one commit"
                self.findings.accuse(Kind.DOUBLE_APPLY, what, commit.snapshot_ids, (name,))
            elif by is not None and not is_same_commit:
                what = f"{name} was applied by snapshot {by} and again by {commit.last.snapshot_id}"
                self.findings.accuse(Kind.DOUBLE_APPLY, what, (by, commit.last.snapshot_id), (name,))
            own.add(name)
        if commit.is_complete:
            for name in own:
                self._applied.setdefault(name, commit.last.snapshot_id)

    def _judge_page(self, commit: Landed, page: Page) -> None:
        """Judge what a commit says of what was applied before it."""
        is_within = not self.past.is_cut
        for entry in page.entries:
            if entry.snapshot_id in self._places:
                is_within = True  # Whatever came later must be in what is left of the history.
            elif is_within and entry.snapshot_id not in self._ghosts:
                self._ghosts.add(entry.snapshot_id)
                names = tuple(_names(entry))
                what = f"the ledger says that snapshot {entry.snapshot_id} was applied, which is not in the history"
                self.findings.accuse(Kind.GHOST_COMMIT, what, (entry.snapshot_id, commit.last.snapshot_id), names)
        for stream, mark in page.watermarks.items():
            reached = self._watermarks.get(stream)
            if reached is not None and mark.upto < reached:
                what = f"stream {stream!r} was at {reached}, and is at {mark.upto} before this commit"
                self.findings.accuse(Kind.WATERMARK_REGRESSION, what, commit.snapshot_ids, commit.operation_ids)
            self._watermarks[stream] = mark.upto
        if self._carried is None:
            return
        file, names_before = self._carried
        location = page.file.location if page.file else None
        forgotten = names_before - {name for entry in page.entries for name in _names(entry)}
        if (location == file and forgotten) or (location is None and file is not None):
            what = "the ledger has forgotten what the commits before had applied"
            self.findings.accuse(Kind.WATERMARK_REGRESSION, what, commit.snapshot_ids, tuple(sorted(forgotten)))

    def _judge_step(self, commit: Landed, step: StreamStep, page: Page | None) -> None:
        reached = self._watermarks.get(step.stream)
        is_known = reached is not None or (not self.past.is_cut and (page is None or page.file is None))
        name = f"stream {step.stream!r} was at {reached if reached is not None else 'its beginning'}"
        if is_known and step.after != reached:
            what = f"{name}, and this commit applies a step to {step.upto} that follows {step.after}"
            self.findings.accuse(Kind.WATERMARK_REGRESSION, what, commit.snapshot_ids, commit.operation_ids)
        if commit.is_complete:
            self._watermarks[step.stream] = step.upto

    def _overtaken(self, commit: Landed, recorded: Recorded) -> Overtaken | None:
        if commit.parts and commit.parts[0] != 1:
            return None  # The snapshot that it landed on is gone, or was said to be missing.
        parent = commit.parent
        if parent is None:
            if not self.past.is_cut and recorded.base_snapshot_id is not None:
                self._accuse_ghost(commit, recorded.base_snapshot_id)
            return None
        if recorded.base_snapshot_id != parent.snapshot_id:
            return self._since(commit, recorded.base_snapshot_id, recorded.base_sequence_number, is_recorded=False)
        sequence_number = recorded.base_sequence_number
        if sequence_number is not None and sequence_number != parent.sequence_number:
            what = (
                f"its base, snapshot {parent.snapshot_id}, has sequence number {parent.sequence_number}, and not "
                f"{sequence_number} as recorded"
            )
            self.findings.accuse(Kind.FALSE_RECORD, what, (parent.snapshot_id, *commit.snapshot_ids))
        if recorded.computed_on_snapshot_id is None:
            return None
        return self._since(commit, recorded.computed_on_snapshot_id, None, is_recorded=True)

    def _since(
        self, commit: Landed, base_id: int | None, sequence_number: int | None, *, is_recorded: bool
    ) -> Overtaken | None:
        """Say what came between, if the base is among the ancestors, and accuse the commit if it is not."""
        place = self._places.get(base_id) if base_id is not None else -1
        if place is not None and place < self._places[commit.steps[0].snapshot_id]:
            return Overtaken(max(place, 0 if self.past.is_cut else -1), is_recorded)
        oldest = self.past.steps[0]
        if self.past.is_cut and place is None and (sequence_number or 0) < oldest.sequence_number:
            # The base is gone. A commit that was rebased over it is judged no further back than the others.
            return None if is_recorded else Overtaken(0, is_recorded)
        self._accuse_ghost(commit, base_id)
        return None

    def _accuse_ghost(self, commit: Landed, base_id: int | None) -> None:
        base = f"snapshot {base_id}" if base_id is not None else "an empty table"
        what = f"it was computed from {base}, which is none of its ancestors"
        ids = (base_id, *commit.snapshot_ids) if base_id is not None else commit.snapshot_ids
        self.findings.accuse(Kind.GHOST_COMMIT, what, ids, commit.operation_ids)


def _names(entry: Entry) -> Iterator[str]:
    yield from entry.ids
    for asset, keys in entry.partitions.items():
        yield from (operation_id(asset, key) for key in keys)


def _carried(recorded: Recorded, *, is_complete: bool) -> tuple[str | None, frozenset[str]]:
    """Return the ledger file and what the next commit must know beside it."""
    page = recorded.page
    assert page is not None
    own = {*recorded.operation_ids} - ({_step_name(recorded.step)} if recorded.step else set())
    names = (own if is_complete else set()).union(*(_names(entry) for entry in page.entries))
    return page.file.location if page.file else None, frozenset(names)


def _step_name(step: StreamStep) -> str:
    return f"{step.stream}@{step.upto}"


def _numbers(parts: tuple[int, ...]) -> str:
    return ", ".join(map(str, parts))
