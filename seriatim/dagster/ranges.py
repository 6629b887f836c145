"""Version numbers in few words."""

from __future__ import annotations

from collections.abc import Iterable

from seriatim.commit.intervals import Intervals


def ranges(versions: Iterable[int]) -> str:
    """Return versions as `3-7, 9`; `none` if there are none."""
    pairs = Intervals.of(versions).pairs
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in pairs) or "none"
