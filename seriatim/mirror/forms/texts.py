"""Reads the texts in which Delta writers put down days, points in time, and numbers.

Everything here returns None for a text that it does not know: whoever calls decides whether that is an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_MOMENT: Final = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,12}))?)?)?"
    r" ?(Z|UTC|[+-]\d{2}:?\d{2}(?::\d{2})?)?",
    re.ASCII,
)
_WHOLE: Final = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_MICRO_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time as a text says it."""

    micros: int  # since 1970-01-01T00:00:00, digits beyond the sixth cut off (downwards)
    digits: int  # of the fraction of a second
    is_exact: bool  # nothing was cut off
    offset_s: int | None  # from UTC, already taken off; None: the text names no zone


def days(text: str) -> int | None:
    """Return the days since 1970-01-01 of a `yyyy-MM-dd`."""
    found = _DAY.fullmatch(text)
    if found is None:
        return None
    try:
        return (date(*(int(part) for part in found.groups())) - _EPOCH.date()).days
    except ValueError:
        return None


def moment(text: str) -> Moment | None:
    """Return what is said by a timestamp in one of the spellings of SQL and of ISO 8601."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    *parts, fraction, zone = found.groups()
    try:
        whole = datetime(*(int(part or 0) for part in parts), tzinfo=UTC)  # type: ignore[arg-type,misc]  # Six of them.
    except ValueError:
        return None
    fraction = fraction or ""
    offset_s = _offset_s(zone)
    micros = (whole - _EPOCH) // timedelta(microseconds=1) + int(fraction[:_MICRO_DIGITS].ljust(_MICRO_DIGITS, "0"))
    return Moment(
        micros=micros - (offset_s or 0) * 1_000_000,
        digits=len(fraction),
        is_exact=not fraction[_MICRO_DIGITS:].strip("0"),
        offset_s=offset_s,
    )


def whole(text: str) -> int | None:
    """Return the whole number; Python's own `int` would also take `1_0` and blanks."""
    return int(text) if _WHOLE.fullmatch(text) else None


def number(text: str) -> Decimal | None:
    """Return the number, which may be NaN or an infinity."""
    if "_" in text or text != text.strip():
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _offset_s(zone: str | None) -> int | None:
    if zone is None:
        return None
    if zone in ("Z", "UTC"):
        return 0
    digits = zone[1:].replace(":", "").ljust(6, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:4]) * 60 + int(digits[4:])
    return -seconds if zone.startswith("-") else seconds
