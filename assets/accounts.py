"""The accounts of the bank: an asset that opens new ones."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
import dagster as dg

from assets.account_table import OPENINGS
from assets.transactions_table import GROUP, OWNER, TRANSACTIONS_KEY
from seriatim.commit import Writer
from seriatim.dagster import IcebergCatalog, outcome_sentence


@dg.asset(key=OPENINGS.split("/"), deps=[TRANSACTIONS_KEY], group_name=GROUP, owners=[OWNER], kinds={"iceberg"})
def accounts(context: dg.AssetExecutionContext, catalog: IcebergCatalog) -> dg.MaterializeResult[None]:
    """Opens at balance 0 each account that new transactions name and the table lacks; the others keep theirs."""
    from assets.account_opening import open_accounts
    from assets.mirrored import mirrored
    from assets.steps import nothing_mirrored, step_metadata

    iceberg = catalog.load()
    found = mirrored(iceberg)
    if found is None:
        return nothing_mirrored(context)
    opened = open_accounts(iceberg, *found, writer=Writer(context.run.run_id))
    context.log.info(outcome_sentence(opened.receipt))
    return dg.MaterializeResult(metadata=step_metadata(context.log, iceberg, opened))
