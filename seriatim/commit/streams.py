"""Streams: what is applied strictly in order, each step once, with the place reached remembered without limit."""

from __future__ import annotations

from dataclasses import dataclass

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
            InvalidChangeError: the name is empty, or `upto` is not above `after`.
        """
        if not (isinstance(self.name, str) and self.name):
            raise InvalidChangeError(f"a stream's name is a non-empty string, not {self.name!r}")
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
