"""The ledger's words in the summary of each commit: what had been applied before it, and what it applies itself.

| key | value |
| --- | --- |
| `seriatim.ledger-format` | `1`; a commit that has it tells everything that was applied before it |
| `seriatim.applied-at-ms` | when the commit was made, by its writer's clock; never before its operations were issued |
| `seriatim.partitions` | of its own operations: `{asset: [key, ...]}` |
| `seriatim.stream` | of its own operations: `[name, after, upto]` |
| `seriatim.recent` | applied before, after the file: `[[snapshot, at ms, [id, ...], {asset: [key, ...]}], ...]` |
| `seriatim.watermarks` | reached before, after the file: `{stream: [upto, snapshot id]}` |
| `seriatim.ledger` | the ledger file, which holds everything older; absent: there is none |
| `seriatim.ledger-bytes` | its size and the size of its footer, `<size>/<footer>` |

All but its own operations speak of the time before the commit, so that they hold on every snapshot of a commit that has
several. Of these only the last counts as having applied them: a table that was rolled back to one in the middle has not
all of the rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pyiceberg.table.snapshots import Snapshot

from seriatim.commit import summary
from seriatim.commit.ledger_names import Names
from seriatim.commit.partitions import operation_id
from seriatim.commit.streams import Watermark

FORMAT: Final = "1"
LEDGER_FORMAT: Final = "seriatim.ledger-format"
APPLIED_AT_MS: Final = "seriatim.applied-at-ms"
OWN_PARTITIONS: Final = "seriatim.partitions"
OWN_STREAM: Final = "seriatim.stream"
RECENT: Final = "seriatim.recent"
WATERMARKS: Final = "seriatim.watermarks"
LEDGER: Final = "seriatim.ledger"
LEDGER_BYTES: Final = "seriatim.ledger-bytes"


@dataclass(frozen=True, slots=True)
class Entry:
    """What one commit applied."""

    snapshot_id: int
    at_ms: int
    ids: tuple[str, ...] = ()
    partitions: Mapping[str, Sequence[str]] = field(default_factory=dict)  # keys, by asset

    @property
    def size(self) -> int:
        """How many operations it names."""
        return len(self.ids) + sum(map(len, self.partitions.values()))


@dataclass(frozen=True, slots=True)
class FileReference:
    """A ledger file, as a commit refers to it."""

    location: str
    size: int
    footer_size: int


@dataclass(frozen=True, slots=True)
class Page:
    """What a commit carries: everything that was applied, as entries and watermarks since a file, and the file."""

    entries: tuple[Entry, ...] = ()  # oldest first
    watermarks: Mapping[str, Watermark] = field(default_factory=dict)
    file: FileReference | None = None  # None: nothing was folded yet

    @property
    def size(self) -> int:
        """How many operations the entries name."""
        return sum(entry.size for entry in self.entries)

    def words(self) -> dict[str, str]:
        """Return the page as a commit carries it."""
        words = {LEDGER_FORMAT: FORMAT}
        if self.entries:
            words[RECENT] = _json([_entry_json(entry) for entry in self.entries])
        if self.watermarks:
            words[WATERMARKS] = _json({name: [mark.upto, mark.snapshot_id] for name, mark in self.watermarks.items()})
        if self.file is not None:
            words[LEDGER] = self.file.location
            words[LEDGER_BYTES] = f"{self.file.size}/{self.file.footer_size}"
        return words


def own_words(names: Names, pending: Sequence[str], at_ms: int) -> dict[str, str]:
    """Return what a commit says of the operations that it applies itself, beside their ids."""
    words = {APPLIED_AT_MS: str(at_ms)}
    if names.partitions is not None and (keys := names.partitions.left(pending)):
        words[OWN_PARTITIONS] = _json({names.partitions.asset: keys})
    if names.stream is not None and names.stream.operation_id in pending:
        words[OWN_STREAM] = _json([names.stream.name, names.stream.after, names.stream.upto])
    return words


def format_of(snapshot: Snapshot) -> str | None:
    """Return the format of the ledger's words; None: the snapshot has none."""
    return summary.word(snapshot, LEDGER_FORMAT)


def page_after(snapshot: Snapshot) -> Page:
    """Return what had been applied once this snapshot was there."""
    page = page_before(snapshot)
    if not summary.is_last_part(snapshot):
        return page
    own = own_entry(snapshot)
    watermarks = dict(page.watermarks)
    if (stream := summary.word(snapshot, OWN_STREAM)) is not None:
        name, _, upto = json.loads(stream)
        watermarks[name] = Watermark(upto, snapshot.snapshot_id)
    return Page((*page.entries, own) if own.size else page.entries, watermarks, page.file)


def own_entry(snapshot: Snapshot) -> Entry:
    """Return what the snapshot itself applied, without the step of a stream."""
    keys_said = summary.word(snapshot, OWN_PARTITIONS)
    partitions: dict[str, list[str]] = json.loads(keys_said) if keys_said else {}
    otherwise_named = {operation_id(asset, key) for asset, keys in partitions.items() for key in keys}
    if (stream := summary.word(snapshot, OWN_STREAM)) is not None:
        name, _, upto = json.loads(stream)
        otherwise_named.add(f"{name}@{upto}")
    ids = tuple(id_ for id_ in summary.operation_ids(snapshot) if id_ not in otherwise_named)
    at_ms = int(summary.word(snapshot, APPLIED_AT_MS) or snapshot.timestamp_ms)
    return Entry(snapshot.snapshot_id, at_ms, ids, partitions)


def page_before(snapshot: Snapshot) -> Page:
    """Return what had been applied when the commit was made, as it says."""
    entries = tuple(
        Entry(snapshot_id, at_ms, tuple(ids), partitions[0] if partitions else {})
        for snapshot_id, at_ms, ids, *partitions in json.loads(summary.word(snapshot, RECENT) or "[]")
    )
    marks = json.loads(summary.word(snapshot, WATERMARKS) or "{}")
    watermarks = {name: Watermark(upto, snapshot_id) for name, (upto, snapshot_id) in marks.items()}
    location = summary.word(snapshot, LEDGER)
    if location is None:
        return Page(entries, watermarks)
    size, footer_size = (summary.word(snapshot, LEDGER_BYTES) or "0/0").split("/")
    return Page(entries, watermarks, FileReference(location, int(size), int(footer_size)))


def _entry_json(entry: Entry) -> list[Any]:
    short: list[Any] = [entry.snapshot_id, entry.at_ms, entry.ids]
    return [*short, entry.partitions] if entry.partitions else short


def _json(content: object) -> str:
    return json.dumps(content, separators=(",", ":"))
