"""Streams: what is applied strictly in order, each step once, with the place reached remembered without limit."""

from __future__ import annotations

from dataclasses import dataclass

from seriatim.commit.texts import require_text
from seriatim.errors import InvalidChangeError, StreamGapError


@dataclass(frozen=True, slots=True)
class Stream:
    """One step of a stream: it takes the table from position `after` to position `upto`.

    `after` is the predecessor that the step declares. It need not be `upto - 1`: positions may be offsets, timestamps,
    versions of another table. None: the step begins the stream, which then must not have been applied before.
    """

    name: str
    upto: int
    after: int | None

    def __post_init__(self) -> None:
        """Refuse a step that has no name or does not go forward.

        Raises:
            InvalidChangeError: the name is no text, a position is no integer, or `upto` is not above `after`.
        """
        require_text("a stream's name", self.name)
        for position in (self.upto, *(() if self.after is None else (self.after,))):
            if not isinstance(position, int) or isinstance(position, bool):
                raise InvalidChangeError(f"stream {self.name!r}: a position is an integer, not {position!r}")
        if self.after is not None and self.upto <= self.after:
            raise InvalidChangeError(f"stream {self.name!r}: {self.upto} is not after {self.after}")

    @property
    def operation_id(self) -> str:
        """What the step is known by in summaries, receipts and events."""
        return f"{self.name}@{self.upto}"


@dataclass(frozen=True, slots=True)
class Watermark:
    """The place that a stream has reached."""

    upto: int
    snapshot_id: int  # of the commit that reached it


def is_applied(table: str, stream: Stream, watermark: Watermark | None) -> bool:
    """Tell whether the step has been applied; False means that it is the next one.

    Raises:
        StreamGapError: it neither was applied nor is the next one.
    """
    if watermark is not None and stream.upto <= watermark.upto:
        return True
    reached = watermark.upto if watermark is not None else None
    if stream.after != reached:
        raise StreamGapError(table, stream=stream.name, watermark=reached, after=stream.after, upto=stream.upto)
    return False
