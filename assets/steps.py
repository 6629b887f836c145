"""What a run tells of the step that it took in the stream of transactions."""

from __future__ import annotations

from typing import Any

import dagster as dg
from pyiceberg.catalog import Catalog

from assets.account_table import ACCOUNT_TABLE
from seriatim.dagster import receipt_metadata
from seriatim.dagster.table_metadata import described
from seriatim.mirror import Consumed


def step_metadata(log: dg.DagsterLogManager, catalog: Catalog, consumed: Consumed) -> dict[str, dg.MetadataValue[Any]]:
    """Return what landed, which Delta versions it was made of, and the account table as it is by then.

    A run that found nothing new says so.
    """
    receipt = consumed.receipt
    return {
        **receipt_metadata(receipt),
        "delta_version": dg.MetadataValue.int(consumed.upto),
        "versions": dg.MetadataValue.text(versions_of(consumed)),
        **described(log, catalog, ACCOUNT_TABLE, receipt.head_snapshot_id, totals=["bal"]),
    }


def versions_of(consumed: Consumed) -> str:
    """Return the Delta versions whose rows the run has used, in words."""
    if consumed.receipt.is_noop:
        return f"nothing new up to {consumed.upto}"
    return span(consumed.after, consumed.upto)


def span(after: int | None, upto: int) -> str:
    """Return the versions after one (None: from the first) up to another, in words."""
    first = 0 if after is None else after + 1
    return f"{first}" if first == upto else f"{first} to {upto}"


def nothing_mirrored(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
    """Say that there is nothing to do yet; nothing is written."""
    context.log.info("No Delta version is mirrored yet: materialize bank/transactions. Nothing was written.")
    return dg.MaterializeResult(metadata={"versions": dg.MetadataValue.text("nothing is mirrored yet")})
