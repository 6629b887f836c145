"""A run of the mirror, and the metadata of its materialization."""

from __future__ import annotations

from typing import Any, Final

import dagster as dg
from pyiceberg.catalog import Catalog

from seriatim.commit import RetryPolicy, Writer
from seriatim.dagster.conflicts import ConflictReporter, snapshot_text
from seriatim.dagster.delta_source import DeltaSource
from seriatim.dagster.first_use import ensure_namespace
from seriatim.dagster.ranges import ranges
from seriatim.dagster.table_metadata import described
from seriatim.mirror import MirrorReceipt, OnGap, mirror

_SNAPSHOTS_MAX: Final = 100  # shown; a first run may land many thousands


def mirror_in_run(  # Options, by name.
    context: dg.AssetExecutionContext,
    catalog: Catalog,
    identifier: tuple[str, ...],
    source: DeltaSource,
    *,
    upto: int | None = None,
    batch: int | None = None,
    on_gap: OnGap = "fail",
    check_files: bool = False,
    table_key: dg.AssetKey | None = None,
    policy: RetryPolicy | None = None,
) -> dg.MaterializeResult[None]:
    """Mirror what is new in a Delta table, and return what became of it; a conflict is an observation of `table_key`.

    By default `table_key` is the running asset's key. The namespace is made if it is not there.

    Raises:
        MirrorError: as `seriatim.mirror.mirror`; it names the Delta version and the operation that it could not land.
    """
    ensure_namespace(catalog, identifier[:-1])
    receipt = mirror(
        source.uri(),
        catalog,
        identifier,
        upto=upto,
        batch=batch,
        on_gap=on_gap,
        check_files=check_files,
        storage_options=source.options(),
        policy=policy,
        writer=Writer(context.run.run_id),
        observer=ConflictReporter(context, table_key or context.asset_key),
    )
    context.log.info(mirror_sentence(receipt))
    snapshot_id = receipt.landed[-1].snapshot_id if receipt.landed else receipt.base_snapshot_id
    return dg.MaterializeResult(
        metadata={**mirror_metadata(receipt), **described(context.log, catalog, identifier, snapshot_id)}
    )


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
