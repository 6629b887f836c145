"""Partitions of an asset: a set that is applied in any order, and remembered without limit.

A partition has an operation id like any other operation, `<asset>|<key>`, so that whoever knows it by that name finds
it. What is different is the memory: keys that hold a date or are a number become intervals, so that ten years of days
in any order end as one interval, and no partition is ever forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from seriatim.commit.intervals import Intervals
from seriatim.commit.texts import require_text
from seriatim.errors import InvalidChangeError

_DATE: Final = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)", re.ASCII)
_NUMBER: Final = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Partitions:
    """Partitions of one asset, in the order in which they are to be applied; the keys are those of the orchestrator.

    Any text will do as a key. Keys with an ISO date in them (`1993-01-05`, `1993-01-05-13:00`, `1993-01-05|eu`) and
    whole numbers are kept as intervals, others one by one.
    """

    asset: str
    keys: Sequence[str]

    def __post_init__(self) -> None:
        """Refuse what names nothing.

        Raises:
            InvalidChangeError: the asset or a key is no text.
        """
        if isinstance(self.keys, str):
            raise InvalidChangeError(f"keys is one string, {self.keys!r}; pass a sequence of them")
        object.__setattr__(self, "keys", tuple(self.keys))
        require_text("the asset of partitions", self.asset)
        for key in self.keys:
            require_text("a partition key", key)

    @property
    def operation_ids(self) -> tuple[str, ...]:
        """The operation id of each partition, in the order of the keys."""
        return tuple(operation_id(self.asset, key) for key in self.keys)

    def left(self, pending: Iterable[str]) -> tuple[str, ...]:
        """Return the keys whose operation ids are in `pending`, which `base.pending` is."""
        ids = frozenset(pending)
        return tuple(key for key in self.keys if operation_id(self.asset, key) in ids)


def operation_id(asset: str, key: str) -> str:
    """Return the name of the operation that applies one partition; no two partitions have the same."""
    return f"{_escaped(asset)}|{_escaped(key)}"


def partition_of(name: str) -> tuple[str, str] | None:
    """Return the asset and the key that have this operation id; None: no partition has it."""
    asset, bar, key = name.rpartition("|")
    plain = (_plain(asset), _plain(key))
    return plain if bar and operation_id(*plain) == name else None


@dataclass(frozen=True, slots=True)
class _Run:
    """Keys that differ in one number alone: `before` + the number + `after`."""

    asset: str
    kind: str  # "day": an ISO date, as its proleptic ordinal; "number"
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class PartitionSet:
    """Which partitions of which assets have been applied."""

    runs: Mapping[_Run, Intervals] = field(default_factory=dict)
    names: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by asset: keys that are in no run

    def has(self, asset: str, key: str) -> bool:
        """Tell whether the partition has been applied."""
        placed = _placed(asset, key)
        if placed is None:
            return key in self.names.get(asset, ())
        run, number = placed
        return run in self.runs and number in self.runs[run]

    def with_keys(self, keys: Mapping[str, Iterable[str]]) -> PartitionSet:
        """Return the set with more keys, by asset."""
        numbers: dict[_Run, list[int]] = {}
        names = {asset: set(known) for asset, known in self.names.items()}
        for asset, key in ((asset, key) for asset, some in keys.items() for key in some):
            placed = _placed(asset, key)
            if placed is None:
                names.setdefault(asset, set()).add(key)
            else:
                numbers.setdefault(placed[0], []).append(placed[1])
        runs = dict(self.runs)
        for run, some_numbers in numbers.items():
            runs[run] = runs.get(run, Intervals()) | Intervals.of(some_numbers)
        return PartitionSet(runs, {asset: frozenset(known) for asset, known in names.items()})

    def to_json(self) -> list[Any]:
        """Return the set as JSON can hold it."""
        runs = [[run.asset, run.kind, run.before, run.after, some.pairs] for run, some in self.runs.items()]
        return [runs, {asset: sorted(known) for asset, known in self.names.items()}]

    @classmethod
    def of_json(cls, content: Sequence[Any]) -> PartitionSet:
        """Return the set that `to_json` was made of."""
        runs, names = content
        return cls(
            {
                _Run(asset, kind, before, after): Intervals(tuple((first, last) for first, last in pairs))
                for asset, kind, before, after, pairs in runs
            },
            {asset: frozenset(known) for asset, known in names.items()},
        )


def _placed(asset: str, key: str) -> tuple[_Run, int] | None:
    """Return the run that holds the key, and its number there; None: the key is kept as it is."""
    if _NUMBER.fullmatch(key):
        return _Run(asset, "number", "", ""), int(key)
    match = _DATE.search(key)
    if match is None:
        return None
    try:
        day = date.fromisoformat(match[0])
    except ValueError:  # It only looks like a date.
        return None
    return _Run(asset, "day", key[: match.start()], key[match.end() :]), day.toordinal()


def _escaped(name: str) -> str:
    return name.replace("%", "%25").replace("|", "%7C")


def _plain(name: str) -> str:
    return name.replace("%7C", "|").replace("%25", "%")
