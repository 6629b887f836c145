"""The lag of a mirror as an asset check."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
import dagster as dg

from seriatim.dagster.mirror_sensor import Lag, look
from seriatim.errors import DeltaLogError


def mirror_lag_check(
    *,
    asset_key: dg.AssetKey,
    identifier: tuple[str, ...],
    versions_max: int,
    source_resource_key: str = "delta",
    catalog_key: str = "catalog",
    name: str = "mirror_lag",
) -> dg.AssetChecksDefinition:
    """Make the check that the mirror `identifier` is at most `versions_max` Delta versions behind its source.

    It fails as a warning: what is mirrored is right, and only late. So it does when the lag is not known, because the
    Delta table cannot be read or is at an earlier version than the mirror. `source_resource_key` is the resource (a
    `DeltaTableSource`) that knows where the Delta table is, `catalog_key` the one that opens the catalog.
    """

    @dg.asset_check(
        asset=asset_key,
        name=name,
        required_resource_keys={catalog_key, source_resource_key},
        description=f"{'.'.join(identifier)} is at most {versions_max} Delta versions behind its source.",
    )
    def check(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        catalog, source = (getattr(context.resources, key) for key in (catalog_key, source_resource_key))
        try:
            found = look(catalog.load(), identifier, source)
        except DeltaLogError as err:
            return dg.AssetCheckResult(
                passed=False, severity=dg.AssetCheckSeverity.WARN, description=f"The lag is not known: {err}"
            )
        return lag_result(found, versions_max)

    return check


def lag_result(found: Lag, versions_max: int) -> dg.AssetCheckResult:
    """Return what a lag means; a mirror ahead of its source is the mirror of another table, or of one set back."""
    ahead = ": the mirror is ahead, so the Delta table was replaced or set back" if found.lag < 0 else ""
    return dg.AssetCheckResult(
        passed=0 <= found.lag <= versions_max,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"{found.sentence()}, {versions_max} allowed{ahead}.",
        metadata={
            "lag": found.lag,
            "versions_max": versions_max,
            "version": -1 if found.version is None else found.version,
            "delta_version": found.delta_version,
        },
    )
