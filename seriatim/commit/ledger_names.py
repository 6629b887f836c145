"""What a call is known by: operation ids, partitions, a step of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from seriatim.commit.partitions import Partitions
from seriatim.commit.streams import Stream
from seriatim.errors import InvalidChangeError

_NAME_MAX: Final = 1_000


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
            InvalidChangeError: the operation ids are not distinct strings of 1 to 1,000 characters.
        """
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
    checked = tuple(id_ for id_ in operation_ids if isinstance(id_, str) and id_)
    if len(checked) < len(operation_ids):
        raise InvalidChangeError(f"an operation id is a non-empty string; these are not all: {list(operation_ids)}")
    return checked
