"""What a process has seen at the tables that it has written last."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_TABLES_MAX: Final = 256


class Seen(Generic[T]):
    """Remembers one thing for each line of writers, and forgets the line that was noted longest ago."""

    def __init__(self, unseen: T) -> None:
        """Begin with nothing seen, which is as if `unseen` had been."""
        self._unseen = unseen
        self._seen: OrderedDict[str, T] = OrderedDict()  # Each step on it is one that threads cannot interrupt.

    def at(self, line: str) -> T:
        """Return what was seen."""
        return self._seen.get(line, self._unseen)

    def note(self, line: str, seen: T) -> None:
        """Remember what was seen."""
        self._seen.pop(line, None)
        self._seen[line] = seen
        if len(self._seen) > _TABLES_MAX:
            self._seen.popitem(last=False)
