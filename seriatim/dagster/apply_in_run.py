"""The change that a run of an asset makes, made once, and all there is to tell of it."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg
from pyiceberg.catalog import Catalog
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.typedef import Identifier

from seriatim.commit import LedgerPolicy, RetentionPolicy, RetryPolicy, Writer, apply
from seriatim.commit.prepare import Compute
from seriatim.dagster.conflicts import ConflictReporter
from seriatim.dagster.identifiers import names
from seriatim.dagster.operation_ids import Launch, is_forced, operations
from seriatim.dagster.receipts import operation_metadata, outcome_sentence, receipt_metadata
from seriatim.dagster.table_metadata import described


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
    launch, config = Launch.of(context), context.op_execution_context.op_config
    launched = operations(launch, force=is_forced(config) if force is None else force)
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
    if launch.partition_keys is not None:
        for operation_id, key in zip(launched.ids, launch.partition_keys, strict=True):
            context.add_asset_metadata(operation_metadata(receipt, operation_id), partition_key=key)
    return dg.MaterializeResult(
        metadata={
            **receipt_metadata(receipt),
            **described(context.log, catalog, identifier, receipt.head_snapshot_id, branch=branch, totals=totals),
        }
    )
