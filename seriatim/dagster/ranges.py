"""Version numbers in few words."""

from __future__ import annotations

from collections.abc import Iterable


def ranges(versions: Iterable[int]) -> str:
    """Return versions, in order, as `3-7, 9`; `none` if there are none."""
    spans: list[tuple[int, int]] = []
    for version in versions:
        if spans and version == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], version)
        else:
            spans.append((version, version))
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in spans) or "none"
