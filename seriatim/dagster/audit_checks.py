"""The audit of a table as asset checks: the audit runs once, and each check fails with its own witnesses."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
from collections.abc import Iterator, Sequence
from typing import Final

import dagster as dg
from pydantic import Field

from seriatim.audit import Invariant
from seriatim.dagster.audit_results import Check, audit_result, has_sum

_CLAIMS: Final = {
    Check.SERIAL: "Some serial order of the commits explains the table: there is no anomaly of any kind. What cannot "
    "be judged is a warning.",
    Check.NO_LOST_UPDATE: "No commit overwrote a value that its writer had never seen.",
    Check.NO_DOUBLE_APPLY: "No operation took effect twice.",
    Check.SUM_INVARIANT: "Every commit moved the declared sums as it was to.",
}


class AuditConfig(dg.Config):
    """What a launch of the checks may say."""

    since_snapshot_id: int | None = Field(
        default=None, description="Only what came after this snapshot is judged; without it all that is left."
    )


def audit_checks(
    *,
    asset_key: dg.AssetKey,
    identifier: tuple[str, ...],
    invariants: Sequence[Invariant] = (),
    branch: str = "main",
    catalog_key: str = "catalog",
    blocking: bool = False,
) -> dg.AssetChecksDefinition:
    """Make the checks that one audit of the table `identifier` answers, on the asset `asset_key`.

    `serial` fails on any anomaly, as an error, and on what cannot be judged, as a warning, since it is not known to be
    right. `no_lost_update` and `no_double_apply` fail on the anomalies of their names, `sum_invariant` on those that
    break a declared sum (`ConstantSum`, `SumsAsRecorded`); without one it is not made. A table that is not there yet
    passes. `catalog_key` is the resource (an `IcebergCatalog`) that opens its catalog.
    """
    table, declared = ".".join(identifier), "; ".join(map(str, invariants)) or "none"
    checks = [check for check in Check if check is not Check.SUM_INVARIANT or has_sum(invariants)]

    @dg.multi_asset_check(
        name=asset_key.to_python_identifier("audit"),
        specs=[
            dg.AssetCheckSpec(check.value, asset=asset_key, description=_CLAIMS[check], blocking=blocking)
            for check in checks
        ],
        description=f"Judges {table} from its snapshots and rows. Declared invariants: {declared}.",
        required_resource_keys={catalog_key},
        can_subset=True,
    )
    def audited(context: dg.AssetCheckExecutionContext, config: AuditConfig) -> Iterator[dg.AssetCheckResult]:
        from seriatim.audit import audit

        catalog = getattr(context.resources, catalog_key).load()
        wanted = {key.name for key in context.selected_asset_check_keys}
        is_there = catalog.table_exists(identifier)
        verdict = (
            audit(catalog, identifier, invariants, branch=branch, since=config.since_snapshot_id) if is_there else None
        )
        yield from (audit_result(check, verdict, asset_key) for check in checks if check.value in wanted)

    return audited
