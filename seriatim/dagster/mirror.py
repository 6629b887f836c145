"""A run of the mirror as the metadata of a materialization."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import dagster as dg

from seriatim.dagster.conflicts import snapshot_text
from seriatim.mirror import MirrorReceipt

_SNAPSHOTS_MAX: Final = 100  # shown; a first run may land many thousands


def mirror_metadata(receipt: MirrorReceipt) -> dict[str, dg.MetadataValue[Any]]:
    """Return which Delta versions this run landed, which others landed meanwhile, the base, the lag and the price."""
    return {
        "source": dg.MetadataValue.text(receipt.source),
        "versions_landed": dg.MetadataValue.text(ranges(each for one in receipt.landed for each in one.versions)),
        "versions_found_landed": dg.MetadataValue.text(ranges(receipt.found_landed)),
        "versions_landed_count": dg.MetadataValue.int(sum(len(one.versions) for one in receipt.landed)),
        "snapshots": dg.MetadataValue.json(
            {str(one.version): str(one.snapshot_id) for one in receipt.landed[-_SNAPSHOTS_MAX:]}
        ),
        "lag": dg.MetadataValue.int(receipt.lag),
        "version": dg.MetadataValue.int(-1 if receipt.version is None else receipt.version),
        "delta_version": dg.MetadataValue.int(receipt.delta_version),
        "base_version": dg.MetadataValue.int(-1 if receipt.base_version is None else receipt.base_version),
        "base_snapshot_id": snapshot_text(receipt.base_snapshot_id),
        "commits": dg.MetadataValue.int(receipt.commits),
        "attempts": dg.MetadataValue.int(receipt.attempts),
        "conflicts": dg.MetadataValue.int(len(receipt.conflicts)),
        "wasted_ms": dg.MetadataValue.int(round(sum(each.wasted_s for each in receipt.conflicts) * 1000)),
    }


def mirror_sentence(receipt: MirrorReceipt) -> str:
    """Return in one line what a run of the mirror did, for the run's log."""
    landed = ranges(each for one in receipt.landed for each in one.versions)
    did = f"landed {landed}" if receipt.landed else "nothing new to land"
    found = f"; others landed {ranges(receipt.found_landed)} meanwhile" if receipt.found_landed else ""
    at = "empty" if receipt.version is None else f"at version {receipt.version}"
    return f"{receipt.table}: {did}{found}; it is {at} of {receipt.delta_version}, lag {receipt.lag}."


def ranges(versions: Iterable[int]) -> str:
    """Return versions, in order, as `3-7, 9`; `none` if there are none."""
    spans: list[tuple[int, int]] = []
    for version in versions:
        if spans and version == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], version)
        else:
            spans.append((version, version))
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in spans) or "none"
