"""What a call is known by: operation ids, partitions, a step of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from seriatim.commit.partitions import Partitions
from seriatim.commit.streams import Stream
from seriatim.commit.texts import require_text
from seriatim.errors import InvalidChangeError

_NAME_MAX: Final = 1_000
_YEAR_9999_MS: Final = 253_402_300_799_999


@dataclass(frozen=True, slots=True)
class Names:
    """The operations of one call, and when they were issued."""

    ids: tuple[str, ...] = ()
    partitions: Partitions | None = None
    stream: Stream | None = None
    issued_at_ms: int | None = None  # None: not known, taken for now

    @classmethod
    def of(
        cls,
        operation_ids: Sequence[object],
        partitions: Partitions | None,
        stream: Stream | None,
        issued_at_ms: int | None,
    ) -> Names:
        """Check what the caller gave.

        Raises:
            InvalidChangeError: the operation ids are not distinct texts of 1 to 1,000 characters, or the time of issue
                is no integer, or not within the years 1970 to 9999 (seconds and microseconds are not milliseconds).
        """
        is_int = isinstance(issued_at_ms, int) and not isinstance(issued_at_ms, bool)
        if issued_at_ms is not None and not (is_int and 0 <= issued_at_ms <= _YEAR_9999_MS):
            raise InvalidChangeError(
                f"issued_at_ms is milliseconds since 1970 as an int, not {issued_at_ms!r}. Nothing was written."
            )
        names = cls(_checked(operation_ids), partitions, stream, issued_at_ms)
        if len(set(names.operation_ids)) < len(names.operation_ids):
            raise InvalidChangeError(
                f"an operation is named twice in {list(names.operation_ids)}; each names one change"
            )
        too_long = [name for name in names.operation_ids if len(name) > _NAME_MAX]
        if too_long:
            raise InvalidChangeError(
                f"the operation id {too_long[0][:60]!r}... has {len(too_long[0])} characters; {_NAME_MAX} are allowed, "
                f"as each commit carries it"
            )
        return names

    @property
    def operation_ids(self) -> tuple[str, ...]:
        """Every name: the ids, then one for each partition, then that of the stream's step."""
        of_partitions = self.partitions.operation_ids if self.partitions else ()
        of_stream = (self.stream.operation_id,) if self.stream else ()
        return (*self.ids, *of_partitions, *of_stream)


def _checked(operation_ids: Sequence[object]) -> tuple[str, ...]:
    if isinstance(operation_ids, str):
        raise InvalidChangeError(f"operation_ids is one string, {operation_ids!r}; pass a sequence of them")
    return tuple(require_text("an operation id", id_) for id_ in operation_ids)
