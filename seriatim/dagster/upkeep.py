"""The upkeep of tables as assets: what each materialization expired, compacted and removed is its metadata."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

if TYPE_CHECKING:
    from seriatim.upkeep import Progress, UpkeepReport

_HOUR_S = 3600.0


class UpkeepConfig(dg.Config):
    """What a launch of upkeep may say."""

    dry_run: bool = Field(default=False, description="Only tell what would be done.")
    older_than_hours: float = Field(
        default=72.0,
        description="Files that nothing has needed for so long go. At least 1, and more than a writer or reader takes.",
    )


def upkeep_assets(
    tables: Mapping[dg.AssetKey, tuple[str, ...]],
    *,
    catalog_key: str = "catalog",
    group_name: str | None = None,
    owners: Sequence[str] | None = None,
) -> list[dg.AssetsDefinition]:
    """Make an asset for each table that expires its history, compacts small files and removes orphans.

    `tables` maps the asset that stands for a table to the table's identifier; the key of its upkeep is that of the
    asset with `_upkeep` behind it. `catalog_key` is the resource (an `IcebergCatalog`) that opens the catalog. They may
    run beside writers; a second one at the same time does no harm.
    """
    return [
        _upkeep_asset(table_key, identifier, catalog_key, group_name, owners)
        for table_key, identifier in tables.items()
    ]


def _upkeep_asset(
    table_key: dg.AssetKey,
    identifier: tuple[str, ...],
    catalog_key: str,
    group_name: str | None,
    owners: Sequence[str] | None,
) -> dg.AssetsDefinition:
    @dg.asset(
        key=[*table_key.path[:-1], f"{table_key.path[-1]}_upkeep"],
        deps=[table_key],
        required_resource_keys={catalog_key},
        group_name=group_name,
        owners=owners,
        kinds={"iceberg"},
        description=f"Upkeep of {'.'.join(identifier)}: expires history beyond what the table says, compacts small "
        f"files, and removes files that nothing has needed for a while.",
    )
    def upkeep(context: dg.AssetExecutionContext, config: UpkeepConfig) -> dg.MaterializeResult[None]:
        from seriatim.upkeep import maintain

        def told(progress: "Progress") -> None:
            context.log.info(f"{progress.files_listed:,} files listed, {progress.removed:,} removed")

        catalog = getattr(context.resources, catalog_key).load()
        age_s = config.older_than_hours * _HOUR_S
        if not catalog.table_exists(identifier):
            context.log.warning(f"There is no table {'.'.join(identifier)} yet, so there is nothing to keep in order.")
            return dg.MaterializeResult()
        report = maintain(catalog, identifier, dry_run=config.dry_run, older_than_s=age_s, progress=told)
        return dg.MaterializeResult(metadata=upkeep_metadata(report))

    return upkeep


def upkeep_metadata(report: "UpkeepReport") -> dict[str, dg.MetadataValue[Any]]:
    """Return what a round of upkeep did, or would do; what can be plotted is a number."""
    integer = dg.MetadataValue.int
    return {
        "is_dry_run": dg.MetadataValue.bool(report.orphans.is_dry_run),
        "snapshots_expired": integer(len(report.expiry.expired)),
        "snapshots_retained": integer(sum(report.expiry.retained.values())),
        "refs_removed": dg.MetadataValue.json(list(report.expiry.refs_removed)),
        "files_compacted": integer(report.compaction.files_removed if report.compaction else report.plan.files),
        "files_instead": integer(report.compaction.files_added if report.compaction else report.plan.files_after),
        "files_listed": integer(report.orphans.files_listed),
        "orphans": integer(report.orphans.orphans),
        "orphans_removed": integer(report.orphans.removed),
        "bytes_removed": integer(report.orphans.bytes_removed),
        "failures": dg.MetadataValue.json(list(report.orphans.failures)),
    }
