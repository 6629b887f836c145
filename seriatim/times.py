"""Times as they are written: for a person, for a machine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def readable(at_ms: int) -> str:
    """Return the time in UTC, to the second."""
    return f"{_time(at_ms):%Y-%m-%d %H:%M:%S}"


def iso(at_ms: int | None) -> str | None:
    """Return the time as ISO 8601 in UTC, to the millisecond; None of none."""
    return None if at_ms is None else _time(at_ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _time(at_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=at_ms)
