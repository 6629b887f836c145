"""A set of whole numbers that stays small while it is dense, in whatever order they come."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Intervals:
    """Closed intervals, sorted, with a gap of at least one number between any two."""

    pairs: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Intervals:
        """Return the set of these numbers."""
        return cls(tuple(_merged((number, number) for number in numbers)))

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self.pairs, number, key=lambda pair: pair[0])
        return place > 0 and number <= self.pairs[place - 1][1]

    def __or__(self, other: Intervals) -> Intervals:
        return Intervals(tuple(_merged([*self.pairs, *other.pairs])))

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.pairs)


def _merged(pairs: Iterable[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Yield the pairs in order, those that touch or overlap as one."""
    current: tuple[int, int] | None = None
    for first, last in sorted((first, last) for first, last in pairs):
        if current is not None and first <= current[1] + 1:
            current = (current[0], max(current[1], last))
            continue
        if current is not None:
            yield current
        current = (first, last)
    if current is not None:
        yield current
