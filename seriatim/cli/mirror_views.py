"""What a call of the mirror did, and which snapshot is which Delta version: for a person, for a machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from seriatim.cli.documents import Json
from seriatim.cli.listing import printable
from seriatim.commit import Conflict
from seriatim.commit.intervals import Intervals
from seriatim.mirror import (
    MirrorReceipt,
    VersionFound,
    VersionGone,
    VersionLookup,
    VersionNotMirrored,
)
from seriatim.redaction import redacted
from seriatim.times import iso, readable


def mirror_lines(table: str, receipt: MirrorReceipt) -> Iterator[str]:
    """Yield what a call landed, what others had landed meanwhile, what it began on, and how far the mirror is."""
    yield f"{table}, the mirror of {printable(redacted(receipt.source))}:"
    yield f"  landed     {_landed(receipt)}"
    for each in receipt.landed:
        if each.gap_from is not None:
            missing = f"versions {each.gap_from} to {each.version} are one, as they were gone from the Delta log"
            yield f"             snapshot {each.snapshot_id}: {missing}"
    if receipt.found_landed:
        yield f"  found      {_versions(receipt.found_landed)}, which another run landed meanwhile"
    yield f"  base       {_base(receipt)}"
    yield f"  conflicts  {_conflicts(receipt.conflicts)}"
    yield f"  lag        {_lag(receipt)}"


def watch_line(table: str, receipt: MirrorReceipt) -> str:
    """Return a later round of a watch in one line."""
    found = f"; {_versions(receipt.found_landed)} found landed" if receipt.found_landed else ""
    lost = f"; {_conflicts(receipt.conflicts)}" if receipt.conflicts else ""
    return f"{table}: landed {_landed(receipt)}{found}{lost}; lag {_lag(receipt)}"


def mirror_document(table: str, receipt: MirrorReceipt) -> Json:
    """Return what a call did."""
    return {
        "table": table,
        "source": redacted(receipt.source),
        "delta_version": receipt.version,
        "latest_delta_version": receipt.delta_version,
        "lag": receipt.lag,
        "base_delta_version": receipt.base_version,
        "base_snapshot_id": receipt.base_snapshot_id,
        "landed": [
            {
                "delta_version": each.version,
                "snapshot_id": each.snapshot_id,
                "delta_operation": each.operation,
                "delta_timestamp": iso(each.timestamp_ms),
                "gap_from": each.gap_from,
            }
            for each in receipt.landed
        ],
        "found_landed": receipt.found_landed,
        "commits": receipt.commits,
        "attempts": receipt.attempts,
        "conflicts": [_conflict(each) for each in receipt.conflicts],
    }


def version_sentence(table: str, found: VersionLookup) -> str:
    """Say which snapshot a Delta version is."""
    match found:
        case VersionFound():
            operation = f" ({printable(found.said.operation)})" if found.said.operation else ""
            then = f"{readable(found.said.timestamp_ms)} UTC in Delta, {readable(found.committed_at_ms)} UTC here"
            return f"{table}: Delta version {found.said.version}{operation} is snapshot {found.snapshot_id}; {then}."
        case VersionGone(gap=None):
            return (
                f"{table}: Delta version {found.delta_version} was mirrored, and its snapshot has been expired since."
            )
        case VersionGone():
            assert found.gap is not None
            stands_for = f"versions {found.gap.said.gap_from} to {found.gap.said.version}"
            return (
                f"{table}: Delta version {found.delta_version} has no snapshot of its own: snapshot "
                f"{found.gap.snapshot_id} stands for {stands_for}, which were gone from the Delta log."
            )
        case VersionNotMirrored(head_version=None):
            return f"{table}: no Delta version has been mirrored to it."
        case VersionNotMirrored():
            return (
                f"{table}: Delta version {found.delta_version} has not been mirrored; the mirror is at version "
                f"{found.head_version}."
            )
        case _:
            assert_never(found)


def version_document(table: str, branch: str, found: VersionLookup) -> Json:
    """Return which snapshot a Delta version is."""
    said: Json
    match found:
        case VersionFound():
            said = {"status": "mirrored", **_found(found)}
        case VersionGone():
            gap = _found(found.gap) if found.gap is not None else None
            said = {"status": "gone", "delta_version": found.delta_version, "stood_for_by": gap}
        case VersionNotMirrored():
            said = {
                "status": "not mirrored",
                "delta_version": found.delta_version,
                "head_delta_version": found.head_version,
            }
        case _:
            assert_never(found)
    return {"table": table, "branch": branch, **said}


def _found(found: VersionFound) -> Json:
    return {
        "delta_version": found.said.version,
        "snapshot_id": found.snapshot_id,
        "committed_at": iso(found.committed_at_ms),
        "delta_timestamp": iso(found.said.timestamp_ms),
        "delta_operation": found.said.operation,
        "gap_from": found.said.gap_from,
    }


def _landed(receipt: MirrorReceipt) -> str:
    if not receipt.landed:
        return "nothing: what was asked for is there"
    newest = receipt.landed[-1]
    operation = f" ({printable(newest.operation)})" if newest.operation is not None else ""
    commits = f"{receipt.commits:,} commit{'' if receipt.commits == 1 else 's'}"
    versions = _versions([version for each in receipt.landed for version in each.versions])
    return f"{versions} in {commits}; version {newest.version}{operation} is snapshot {newest.snapshot_id}"


def _versions(versions: Sequence[int]) -> str:
    """Return versions as ranges: 3, 5 to 9."""
    pairs = Intervals.of(versions).pairs
    said = ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in pairs)
    return f"version{'' if len(versions) == 1 else 's'} {said}"


def _base(receipt: MirrorReceipt) -> str:
    if receipt.base_version is None:
        return "none: the mirror was empty"
    return f"version {receipt.base_version}, snapshot {receipt.base_snapshot_id}"


def _conflicts(conflicts: Sequence[Conflict]) -> str:
    if not conflicts:
        return "none"
    wasted_ms = round(sum(each.wasted_s for each in conflicts) * 1000)
    count = f"{len(conflicts)} attempt{'' if len(conflicts) == 1 else 's'}"
    return f"{count} lost to other runs, {wasted_ms:,} ms wasted"


def _lag(receipt: MirrorReceipt) -> str:
    if receipt.lag == 0:
        return f"0: the mirror is at version {receipt.version}, the Delta table's latest"
    at = "is empty" if receipt.version is None else f"is at version {receipt.version}"
    return f"{receipt.lag:,}: the mirror {at}, the Delta table at {receipt.delta_version}"


def _conflict(conflict: Conflict) -> Json:
    winner = conflict.winner
    return {
        "event_id": conflict.event_id,
        "occurred_at": iso(conflict.occurred_at_ms),
        "attempt": conflict.attempt,
        "wasted_ms": round(conflict.wasted_s * 1000),
        "winner": {"run_id": winner.run_id, "snapshot_id": winner.snapshot_id} if winner is not None else None,
        "expected_snapshot_id": conflict.expected_snapshot_id,
        "actual_snapshot_id": conflict.actual_snapshot_id,
    }
