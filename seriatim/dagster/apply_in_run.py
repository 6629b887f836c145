"""The change that a run of an asset makes, made once, and all there is to tell of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import dagster as dg
from pyiceberg.catalog import Catalog
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.typedef import Identifier

from seriatim.commit import LedgerPolicy, RetentionPolicy, RetryPolicy, Writer, apply
from seriatim.commit.prepare import Compute
from seriatim.dagster.conflicts import ConflictReporter
from seriatim.dagster.identifiers import names
from seriatim.dagster.operation_ids import Launch, operations
from seriatim.dagster.receipts import operation_metadata, outcome_sentence, receipt_metadata
from seriatim.dagster.table_metadata import described

FORCE: Final = "force"


def apply_in_run(  # Options, by name.
    context: dg.AssetExecutionContext,
    catalog: Catalog,
    identifier: str | Identifier,
    change: Compute,
    *,
    table_key: dg.AssetKey | None = None,
    force: bool | None = None,
    totals: Sequence[str] = (),
    branch: str = MAIN_BRANCH,
    policy: RetryPolicy | None = None,
    ledger: LedgerPolicy | None = None,
    retention: RetentionPolicy | None = None,
) -> dg.MaterializeResult[None]:
    """Commit `change(base)` once for what the run was launched to do; see `IcebergCatalog.apply`.

    Raises:
        OperationIdError: the asset has partitions, but the launch names none.
        SeriatimError: as `seriatim.apply` does.
    """
    launched = operations(Launch.of(context), force=is_forced(context) if force is None else force)
    receipt = apply(
        catalog,
        identifier,
        change,
        operation_ids=launched.plain_ids,
        partitions=launched.partitions,
        issued_at_ms=launched.issued_at_ms,
        branch=branch,
        policy=policy,
        ledger=ledger,
        retention=retention,
        writer=Writer(context.run.run_id),
        observer=ConflictReporter(context, table_key or dg.AssetKey(list(names(identifier)))),
    )
    context.log.info(outcome_sentence(receipt))
    if launched.is_partitioned:
        for operation_id, key in zip(launched.ids, context.partition_keys, strict=True):
            context.add_asset_metadata(operation_metadata(receipt, operation_id), partition_key=key)
    snapshot_id = receipt.snapshot_ids[-1] if receipt.snapshot_ids else receipt.base_snapshot_id
    return dg.MaterializeResult(
        metadata={
            **receipt_metadata(receipt),
            **described(context.log, catalog, identifier, snapshot_id, branch=branch, totals=totals),
        }
    )


def is_forced(context: dg.AssetExecutionContext) -> bool:
    """Whether the run's configuration of the asset says `force: true`."""
    config = context.op_execution_context.op_config
    return isinstance(config, Mapping) and config.get(FORCE) is True
