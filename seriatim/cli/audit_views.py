"""What the auditor found: for a person, for a machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seriatim.audit import Anomaly, Invariant, Status, Unjudged, Verdict
from seriatim.cli.documents import Json
from seriatim.cli.listing import printable

_INDENT = " " * 4


def audit_lines(verdict: Verdict) -> Iterator[str]:
    """Yield the verdict, each anomaly with its witness, what cannot be judged, and what was left out."""
    yield f"{verdict.table}, branch {verdict.branch}: {_sum_up(verdict)}"
    for anomaly in verdict.anomalies:
        yield f"  {anomaly.kind.value}: {printable(anomaly.what)}"
        yield from _witness(anomaly)
    if verdict.anomalies_left_out:
        yield f"  ... and {verdict.anomalies_left_out:,} more anomalies"
    by_reason: dict[str, list[Unjudged]] = {}
    for each in verdict.unjudged:
        by_reason.setdefault(each.why, []).append(each)
    for why, some in by_reason.items():
        more = f", and {len(some) - 1:,} more" if len(some) > 1 else ""
        yield f"  cannot be judged: {printable(why)}"
        yield f"{_INDENT}snapshots   {_joined(some[0].snapshot_ids)}{more}"
    if verdict.unjudged_left_out:
        yield f"  ... and {verdict.unjudged_left_out:,} more that cannot be judged"
    for note in verdict.notes:
        yield f"  {note}"


def audit_document(verdict: Verdict, invariants: Sequence[Invariant]) -> Json:
    """Return the verdict."""
    return {
        "table": verdict.table,
        "branch": verdict.branch,
        "status": verdict.status.value,
        "head_snapshot_id": verdict.head_snapshot_id,
        "judged_from_snapshot_id": verdict.judged_from_snapshot_id,
        "snapshots_judged": verdict.snapshots,
        "invariants": [str(invariant) for invariant in invariants],
        "anomalies": [
            {
                "kind": anomaly.kind.value,
                "what": anomaly.what,
                "snapshot_ids": anomaly.snapshot_ids,
                "operation_ids": anomaly.operation_ids,
                "rows": anomaly.rows,
            }
            for anomaly in verdict.anomalies
        ],
        "anomalies_left_out": verdict.anomalies_left_out,
        "unjudged": [
            {"why": each.why, "snapshot_ids": each.snapshot_ids, "operation_ids": each.operation_ids}
            for each in verdict.unjudged
        ],
        "unjudged_left_out": verdict.unjudged_left_out,
        "notes": verdict.notes,
    }


def _sum_up(verdict: Verdict) -> str:
    judged = f"{verdict.snapshots:,} snapshots judged"
    match verdict.status:
        case Status.CLEAN:
            return f"{judged}, nothing is wrong."
        case Status.CANNOT_BE_JUDGED:
            return f"{judged}, nothing wrong was found; not everything can be judged."
        case Status.ANOMALIES:
            count = len(verdict.anomalies) + verdict.anomalies_left_out
            return f"{judged}, {count:,} {'anomaly' if count == 1 else 'anomalies'}."


def _witness(anomaly: Anomaly) -> Iterator[str]:
    yield f"{_INDENT}snapshots   {_joined(anomaly.snapshot_ids)}"
    if anomaly.operation_ids:
        yield f"{_INDENT}operations  {printable(_joined(anomaly.operation_ids))}"
    for row in anomaly.rows:
        yield f"{_INDENT}row         {printable(row)}"


def _joined(values: Sequence[object]) -> str:
    shown = [str(value) for value in values[:5]]
    return ", ".join(shown if len(values) <= len(shown) else [*shown, f"... {len(values) - len(shown)} more"])
