"""The audit of a table as an asset check: it fails on an anomaly, and its metadata holds the witnesses."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
from collections.abc import Sequence
from typing import Any, Final

import dagster as dg
from pydantic import Field
from pyiceberg.table.refs import MAIN_BRANCH

from seriatim.audit import Anomaly, Invariant, Status, Verdict, audit

_SHOWN_MAX: Final = 20


class AuditConfig(dg.Config):
    """What a launch of the check may say."""

    since_snapshot_id: int | None = Field(
        default=None, description="Only what came after this snapshot is judged; without it all that is left."
    )


def audit_check(
    *,
    asset_key: dg.AssetKey,
    identifier: tuple[str, ...],
    invariants: Sequence[Invariant] = (),
    branch: str = MAIN_BRANCH,
    name: str = "no_update_is_lost",
    catalog_key: str = "catalog",
    blocking: bool = False,
) -> dg.AssetChecksDefinition:
    """Make the check that audits the table `identifier` behind the asset `asset_key`.

    An anomaly fails it as an error. What cannot be judged fails it as a warning, since it is not known to be right. A
    table that is not there yet passes. `catalog_key` is the resource (an `IcebergCatalog`) that opens its catalog.
    """
    declared = "; ".join(map(str, invariants)) or "none"

    @dg.asset_check(
        asset=asset_key,
        name=name,
        blocking=blocking,
        required_resource_keys={catalog_key},
        description=f"Judges from the snapshots and rows of {'.'.join(identifier)} whether updates were lost, doubled "
        f"or torn. Declared invariants: {declared}.",
    )
    def check(context: dg.AssetCheckExecutionContext, config: AuditConfig) -> dg.AssetCheckResult:
        catalog = getattr(context.resources, catalog_key).load()
        if not catalog.table_exists(identifier):
            return dg.AssetCheckResult(passed=True, description="There is no table yet.")
        return audit_result(audit(catalog, identifier, invariants, branch=branch, since=config.since_snapshot_id))

    return check


def audit_result(verdict: Verdict) -> dg.AssetCheckResult:
    """Return a verdict as the result of a check."""
    is_wrong = verdict.status is Status.ANOMALIES
    return dg.AssetCheckResult(
        passed=verdict.status is Status.CLEAN,
        severity=dg.AssetCheckSeverity.ERROR if is_wrong else dg.AssetCheckSeverity.WARN,
        description=_description(verdict),
        metadata=audit_metadata(verdict),
    )


def audit_metadata(verdict: Verdict) -> dict[str, dg.MetadataValue[Any]]:
    """Return what an audit found; what can be plotted is a number."""
    integer = dg.MetadataValue.int
    metadata: dict[str, dg.MetadataValue[Any]] = {
        "status": dg.MetadataValue.text(verdict.status.value),
        "snapshots_judged": integer(verdict.snapshots),
        "anomalies": integer(len(verdict.anomalies) + verdict.anomalies_left_out),
        "unjudged": integer(len(verdict.unjudged) + verdict.unjudged_left_out),
        "notes": dg.MetadataValue.json(list(verdict.notes)),
        # As texts: a browser takes numbers of more than 53 bits for others.
        "head_snapshot_id": dg.MetadataValue.text(str(verdict.head_snapshot_id)),
        "judged_from_snapshot_id": dg.MetadataValue.text(str(verdict.judged_from_snapshot_id)),
    }
    if verdict.anomalies:
        witnesses = [_witness(anomaly) for anomaly in verdict.anomalies[:_SHOWN_MAX]]
        metadata["witnesses"] = dg.MetadataValue.json(witnesses)
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
    }


def _description(verdict: Verdict) -> str:
    if verdict.anomalies:
        first = verdict.anomalies[0]
        count = len(verdict.anomalies) + verdict.anomalies_left_out
        return f"{first.kind.value}: {first.what}" + (f" (and {count - 1} more)" if count > 1 else "")
    if verdict.unjudged:
        return f"Nothing wrong was found, but not everything can be judged: {verdict.unjudged[0].why}"
    return f"{verdict.snapshots} snapshots judged, nothing is wrong."
