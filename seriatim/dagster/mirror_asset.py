"""The mirror of a Delta table as an asset."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import Field

if TYPE_CHECKING:
    from seriatim.mirror import OnGap


class MirrorConfig(dg.Config):
    """What a launch of the mirror may say."""

    upto: int | None = Field(default=None, ge=0, description="No Delta version after this one; by default the latest.")
    batch: int | None = Field(
        default=None, ge=1, description="Delta versions per catalog commit; by default as many as cost least."
    )


def mirror_asset(
    *,
    key: dg.AssetKey,
    identifier: tuple[str, ...],
    source_key: dg.AssetKey | None = None,
    source_resource_key: str = "delta",
    catalog_key: str = "catalog",
    on_gap: "OnGap" = "fail",
    check_files: bool = False,
    group_name: str | None = None,
    owners: Sequence[str] | None = None,
) -> dg.AssetsDefinition:
    """Make the asset `key` that mirrors a Delta table to the Iceberg table `identifier`.

    `source_key` is the asset that stands for the Delta table, `source_resource_key` the resource (a `DeltaTableSource`)
    that knows where it is, `catalog_key` the one (an `IcebergCatalog`) that opens the catalog. Runs may overlap. The
    other options are those of `seriatim.mirror.mirror`.
    """

    @dg.asset(
        key=key,
        deps=[] if source_key is None else [source_key],
        required_resource_keys={catalog_key, source_resource_key},
        group_name=group_name,
        owners=owners,
        kinds={"iceberg"},
        description=f"Mirrors a Delta table: each of its versions is a snapshot of {'.'.join(identifier)}, once and in "
        f"order, whatever overlaps.",
    )
    def mirrored(context: dg.AssetExecutionContext, config: MirrorConfig) -> dg.MaterializeResult[None]:
        from seriatim.dagster.mirror import mirror_in_run

        return mirror_in_run(
            context,
            getattr(context.resources, catalog_key).load(),
            identifier,
            getattr(context.resources, source_resource_key),
            upto=config.upto,
            batch=config.batch,
            on_gap=on_gap,
            check_files=check_files,
        )

    return mirrored
