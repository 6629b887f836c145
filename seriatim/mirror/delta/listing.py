"""What lies in the folder `_delta_log`, by the names of its files (Delta protocol, "File Types").

`_last_checkpoint` is not read: it may be behind, torn or wrong, and the listing tells the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from seriatim.mirror.delta.storage import Entry

_COMMIT = re.compile(r"(\d{20})\.json")
_COMPACTION = re.compile(r"(\d{20})\.(\d{20})\.compacted\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")
_PART = re.compile(r"(\d{20})\.checkpoint\.(\d{10})\.(\d{10})\.parquet")
_V2_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.[0-9a-fA-F-]{36}\.(?:json|parquet)")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """All that a table was at one version; complete, if its files are whole."""

    version: int
    parts: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Compaction:
    """What several versions came to together."""

    first: int
    last: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class Segment:
    """What makes one version: a checkpoint (None: from nothing) and what followed it, in order."""

    checkpoint: Checkpoint | None
    deltas: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a log at one moment."""

    commits: dict[int, Entry]  # by version
    checkpoints: tuple[Checkpoint, ...]  # newest first; of one version, the simplest first
    compactions: tuple[Compaction, ...]

    @property
    def latest(self) -> int | None:
        """Return the newest version that anything is known of."""
        versions = [*self.commits, *(c.version for c in self.checkpoints), *(c.last for c in self.compactions)]
        return max(versions, default=None)

    def missing(self, after: int, upto: int) -> tuple[int, int] | None:
        """Return the first and the last version of the first hole among the commits in (after, upto]."""
        first = next((v for v in range(after + 1, upto + 1) if v not in self.commits), None)
        if first is None:
            return None
        last = first
        while last < upto and last + 1 not in self.commits:
            last += 1
        return first, last

    def segments(self, version: int) -> Iterator[Segment]:
        """Yield what a version can be made from, the newest checkpoint first."""
        for checkpoint in self.checkpoints:
            if checkpoint.version <= version:
                deltas = self._deltas(checkpoint.version, version)
                if deltas is not None:
                    yield Segment(checkpoint, deltas)
        from_nothing = self._deltas(-1, version)
        if from_nothing is not None:
            yield Segment(None, from_nothing)

    def _deltas(self, after: int, upto: int) -> tuple[Entry, ...] | None:
        """Return what leads from one version to another: commits, and compactions where a commit is missing."""
        deltas: list[Entry] = []
        at = after
        while at < upto:
            if at + 1 in self.commits:
                at += 1
                deltas.append(self.commits[at])
                continue
            # One that began earlier says again what is known; said twice, it is still so.
            bridges = [c for c in self.compactions if c.first <= at + 1 <= c.last <= upto]
            if not bridges:
                return None
            bridge = max(bridges, key=lambda c: c.last)
            at = bridge.last
            deltas.append(bridge.entry)
        return tuple(deltas)


def list_log(entries: Iterable[Entry]) -> Listing:
    """Sort the files of the folder `_delta_log` by what they are; what has another name is none of them."""
    commits: dict[int, Entry] = {}
    compactions: list[Compaction] = []
    whole: list[Checkpoint] = []
    v2: list[Checkpoint] = []
    parts: dict[tuple[int, int], dict[int, Entry]] = {}
    for entry in entries:
        if found := _COMMIT.fullmatch(entry.name):
            commits[int(found[1])] = entry
        elif found := _COMPACTION.fullmatch(entry.name):
            compactions.append(Compaction(int(found[1]), int(found[2]), entry))
        elif found := _CHECKPOINT.fullmatch(entry.name):
            whole.append(Checkpoint(int(found[1]), (entry,)))
        elif found := _V2_CHECKPOINT.fullmatch(entry.name):
            v2.append(Checkpoint(int(found[1]), (entry,)))
        elif found := _PART.fullmatch(entry.name):
            parts.setdefault((int(found[1]), int(found[3])), {})[int(found[2])] = entry
    v2.sort(key=lambda checkpoint: checkpoint.parts[0].name)
    checkpoints = [*whole, *v2, *_complete(parts)]
    checkpoints.sort(key=lambda checkpoint: -checkpoint.version)
    return Listing(commits, tuple(checkpoints), tuple(compactions))


def _complete(parts: dict[tuple[int, int], dict[int, Entry]]) -> Iterator[Checkpoint]:
    """Yield the checkpoints in parts of which no part is missing."""
    for (version, count), found in parts.items():
        if all(part in found for part in range(1, count + 1)):
            yield Checkpoint(version, tuple(found[part] for part in range(1, count + 1)))
