"""What is still to be mirrored: the versions of a Delta table after the one that its mirror is at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from seriatim.commit.mirrors import MIRROR_OF, MIRROR_ROOT
from seriatim.errors import DeltaLogError, HistoryGapError, SourceMismatchError
from seriatim.mirror.delta.actions import DeletionVector, Metadata, Protocol, State
from seriatim.mirror.delta.log import DeltaLog
from seriatim.mirror.plan import Plan, Planned
from seriatim.mirror.words import Mirrored

OnGap = Literal["fail", "snapshot"]


@dataclass(slots=True)
class Backlog:
    """The versions up to a goal."""

    log: DeltaLog
    goal: int
    on_gap: OnGap
    _latest: Metadata | None = field(default=None, init=False)  # None: not asked for yet
    _heads: dict[int, tuple[Protocol, Metadata]] = field(default_factory=dict, init=False)

    @property
    def source(self) -> str:
        """The Delta table, for messages."""
        return self.log.source

    def has_more(self, version: int | None) -> bool:
        """Whether a mirror at that version (None: empty) lacks any."""
        return (-1 if version is None else version) < self.goal

    def require_source(self, table: str, at: Mirrored | None, properties: Mapping[str, str]) -> None:
        """Refuse to go on with the mirror of another Delta table, of one that has been set back, or of one elsewhere.

        A file is known by its location: a table that is reached by another address, even through a link, has others.
        The mirror's `properties` say what it was made for, which alone tells as long as it is empty.

        Raises:
            SourceMismatchError: it is.
        """
        remedy = "If another Delta table was put in its place, start over (start_over=, --start-over)."
        reason = self._made_for_another(properties.get(MIRROR_OF)) if at is None else self._at_odds(at)
        if reason is None and properties.get(MIRROR_ROOT, self.log.root) != self.log.root:
            reason = f"it knows the files below {properties[MIRROR_ROOT]}, and now they are below {self.log.root}"
            remedy = "Give the address as it was, or start over (start_over=, --start-over)."
        if reason is not None:
            raise SourceMismatchError(table, source=self.source, reason=reason, remedy=remedy)

    def _made_for_another(self, made_for: str | None) -> str | None:
        """Return what speaks against going on with an empty mirror (None: nothing)."""
        found = self.latest_metadata().id
        return None if made_for in (None, found) else _another(made_for, found)

    def _at_odds(self, at: Mirrored) -> str | None:
        """Return what speaks against going on with a mirror that is at a version (None: nothing)."""
        latest = self.log.latest_version() if at.version > self.goal else self.goal
        if at.version > latest:
            return f"it is at version {at.version}, and the Delta table's latest is {latest}"
        if (found := self._table_id(at.version)) != at.table_id:
            return _another(at.table_id, found)
        time_ms = self.log.stated_time_ms(at.version)  # Set back and written on, it has the same id.
        if time_ms not in (None, at.timestamp_ms):
            return f"its version {at.version} was committed at {at.timestamp_ms} ms, and the one there at {time_ms} ms"
        return None

    def require_beginning(self) -> None:
        """See to it that a new mirror could be begun, before the old one goes.

        Raises:
            MirrorError: it could not.
        """
        self.latest_metadata()
        if self.on_gap == "fail":
            self.log.commits(-1, self.goal)

    def plan(self, plan: Plan, version: int | None) -> Iterator[Planned]:
        """Yield the versions that a mirror at that one lacks, planned one after the other.

        Raises:
            MirrorError: when its turn comes, a version cannot be mirrored.
        """
        after = -1 if version is None else version
        try:
            commits = self.log.commits(after, self.goal)
        except HistoryGapError:
            if self.on_gap == "fail":
                raise
            state = self._oldest_state(after)
            yield plan.state(state, gap_from=after + 1)
            commits = self.log.commits(state.version, self.goal)
        for commit in commits:
            yield plan.commit(commit)

    def head(self, version: int | None) -> tuple[Protocol, Metadata] | None:
        """Return the protocol and the metadata of a version; None: the log does not tell, or there is no version."""
        if version is None:
            return None
        if version not in self._heads:
            try:
                self._heads = {version: self.log.head(version)}
            except DeltaLogError:
                return None
        return self._heads[version]

    def latest_metadata(self) -> Metadata:
        """Return the newest metadata, as it was when this was asked for first."""
        if self._latest is None:
            self._latest = self.log.head(self.log.latest_version())[1]
        return self._latest

    def deleted_positions(self, vector: DeletionVector) -> pa.Int64Array:
        """Return which rows of its file a deletion vector deletes."""
        return self.log.deleted_positions(vector)

    def _table_id(self, version: int) -> str:
        """Return the Delta table's id at a version, or where the log no longer tells, now."""
        head = self.head(version)
        return (head[1] if head else self.latest_metadata()).id

    def _oldest_state(self, after: int) -> State:
        """Return the oldest state behind the gap from which on every commit up to the goal is there."""
        first = self.log.first_commit()
        failure: DeltaLogError | None = None
        begins = self.goal if first is None else min(first - 1, self.goal)
        for version in range(max(after + 1, begins), self.goal + 1):
            try:
                return self.log.state(version)
            except DeltaLogError as err:
                failure = failure or err
        assert failure is not None  # The goal is beyond `after`.
        raise failure


def _another(mirrored: str, found: str) -> str:
    return f"it mirrors the Delta table with the id {mirrored}, and the one there has {found}"
