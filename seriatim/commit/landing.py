"""What a commit lands with besides its rows: the words of its summary, the ledger, the expiry of old history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.io import FileIO
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableUpdate

from seriatim.commit import summary
from seriatim.commit.gate import Gate
from seriatim.commit.ledger import Ledger, NextPage, tag_of
from seriatim.commit.ledger_names import Names
from seriatim.commit.retention import RetentionPolicy, expiry
from seriatim.commit.writer import Writer
from seriatim.system import new_id


@dataclass(frozen=True, slots=True)
class Landing:
    """What one attempt's commit lands with."""

    words: Mapping[str, str]
    page: NextPage
    branch: str
    retention: RetentionPolicy
    now_ms: int
    metadata: TableMetadata  # as the attempt loaded it

    @classmethod
    def on(
        cls,
        ledger: Ledger,
        metadata: TableMetadata,
        names: Names,
        pending: Sequence[str],
        *,
        retention: RetentionPolicy,
        attempt: int,
        writer: Writer,
        now_ms: int,
    ) -> Landing:
        """Say what the commit that applies `pending` on the ledger's base lands with."""
        page = ledger.next(names, pending, now_ms)
        words = {**summary.words(new_id(), pending, ledger.pin, attempt, writer), **page.words}
        return cls(words, page, ledger.pin.branch, retention, now_ms, metadata)

    @property
    def tag(self) -> str | None:
        """The ledger's tag, which the commit moves; None: the ledger cannot vouch for anything."""
        return tag_of(self.branch) if self.page.words else None

    @property
    def is_known_by_name(self) -> bool:
        """Whether the ledger will tell of the commit when its snapshots are gone."""
        return summary.OPERATION_IDS in self.words and bool(self.page.words)

    def accompany(self, handle: Table) -> None:
        """Have the gate of the handle land it with the commit, and what is written for it go if the attempt dies."""
        gate, io = handle.catalog, handle.io
        assert isinstance(gate, Gate)
        gate.frame(lambda updates: self._framed(io, updates))

    def _framed(self, io: FileIO, updates: Sequence[TableUpdate]) -> Sequence[TableUpdate]:
        if not self.page.words:
            return updates  # What the history applied is told nowhere else, so that it stays.
        everything = (*self.page.removals, *updates, *self.page.updates(io, updates))
        return (*everything, *expiry(self.metadata, self.branch, self.retention, everything, self.now_ms))
