"""What an audit found, as the results of asset checks."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Final, assert_never

import dagster as dg

from seriatim.audit import Anomaly, ConstantSum, Invariant, Kind, SumsAsRecorded, Verdict

_SHOWN_MAX: Final = 20


class Check(Enum):
    """The checks that one audit answers, by their names."""

    SERIAL = "serial"
    NO_LOST_UPDATE = "no_lost_update"
    NO_DOUBLE_APPLY = "no_double_apply"
    SUM_INVARIANT = "sum_invariant"


def has_sum(invariants: Sequence[Invariant]) -> bool:
    """Whether one of them is about a sum."""
    return any(isinstance(each, ConstantSum | SumsAsRecorded) for each in invariants)


def audit_result(check: Check, verdict: Verdict | None, asset_key: dg.AssetKey) -> dg.AssetCheckResult:
    """Return what a verdict (None: there is no table yet) means for one of the checks.

    Anomalies beyond those that a verdict keeps may be of any kind, so that no check passes then.
    """
    if verdict is None:
        return dg.AssetCheckResult(
            passed=True, asset_key=asset_key, check_name=check.value, description="There is no table yet."
        )
    own = [anomaly for anomaly in verdict.anomalies if _fails(check, anomaly)]
    is_unjudged = check is Check.SERIAL and bool(verdict.unjudged)
    is_wrong = bool(own or verdict.anomalies_left_out)
    return dg.AssetCheckResult(
        passed=not is_wrong and not is_unjudged,
        asset_key=asset_key,
        check_name=check.value,
        severity=dg.AssetCheckSeverity.WARN if is_unjudged and not is_wrong else dg.AssetCheckSeverity.ERROR,
        description=_description(check, own, verdict),
        metadata={**_metadata(own, verdict), **(_of_all(verdict) if check is Check.SERIAL else {})},
    )


def _fails(check: Check, anomaly: Anomaly) -> bool:
    match check:
        case Check.SERIAL:
            return True
        case Check.NO_LOST_UPDATE:
            return anomaly.kind is Kind.LOST_UPDATE
        case Check.NO_DOUBLE_APPLY:
            return anomaly.kind is Kind.DOUBLE_APPLY
        case Check.SUM_INVARIANT:
            return has_sum(anomaly.invariants)
    assert_never(check)


def _description(check: Check, own: Sequence[Anomaly], verdict: Verdict) -> str:
    left_out = verdict.anomalies_left_out
    if own:
        count = len(own) + left_out
        more = f" (and {'up to ' if left_out else ''}{count - 1} more)" if count > 1 else ""
        return f"{own[0].kind.value}: {own[0].what}{more}"
    if left_out:
        return f"{left_out} anomalies beyond the first {len(verdict.anomalies)} were not kept, and may be of this kind."
    if verdict.unjudged and check is Check.SERIAL:
        return f"Nothing wrong was found, but not everything can be judged: {verdict.unjudged[0].why}"
    rest = "; what cannot be judged is told by the check `serial`" if verdict.unjudged else ""
    return f"{verdict.snapshots} snapshots judged, nothing of this kind was found{rest}."


def _metadata(own: Sequence[Anomaly], verdict: Verdict) -> dict[str, dg.MetadataValue[Any]]:
    """Return what each of the checks tells; what can be plotted is a number."""
    metadata: dict[str, dg.MetadataValue[Any]] = {
        "snapshots_judged": dg.MetadataValue.int(verdict.snapshots),
        "anomalies": dg.MetadataValue.int(len(own)),
        # As texts: a browser takes numbers of more than 53 bits for others.
        "head_snapshot_id": dg.MetadataValue.text(str(verdict.head_snapshot_id)),
        "judged_from_snapshot_id": dg.MetadataValue.text(str(verdict.judged_from_snapshot_id)),
    }
    if own:
        metadata["witnesses"] = dg.MetadataValue.json([_witness(anomaly) for anomaly in own[:_SHOWN_MAX]])
    if verdict.anomalies_left_out:
        metadata["anomalies_left_out"] = dg.MetadataValue.int(verdict.anomalies_left_out)
    return metadata


def _of_all(verdict: Verdict) -> dict[str, dg.MetadataValue[Any]]:
    """Return what is told of the audit as a whole."""
    metadata: dict[str, dg.MetadataValue[Any]] = {
        "status": dg.MetadataValue.text(verdict.status.value),
        "unjudged": dg.MetadataValue.int(len(verdict.unjudged) + verdict.unjudged_left_out),
        "notes": dg.MetadataValue.json(list(verdict.notes)),
    }
    if verdict.unjudged:
        reasons = sorted({each.why for each in verdict.unjudged})
        metadata["cannot_be_judged"] = dg.MetadataValue.json(reasons[:_SHOWN_MAX])
    return metadata


def _witness(anomaly: Anomaly) -> dict[str, Any]:
    return {
        "kind": anomaly.kind.value,
        "what": anomaly.what,
        "snapshot_ids": [str(id_) for id_ in anomaly.snapshot_ids],
        "operation_ids": list(anomaly.operation_ids),
        "rows": list(anomaly.rows),
        "breaks": [str(invariant) for invariant in anomaly.invariants],
    }
