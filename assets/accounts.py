"""The accounts of the bank: an asset that opens new ones."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
from typing import Final

import dagster as dg

from assets.account_table import ensure_account_table, open_accounts
from assets.transactions import read_transactions
from assets.transactions_source import TransactionsSource
from seriatim.commit import Writer
from seriatim.dagster import IcebergCatalog, Launch, operations, outcome_sentence, receipt_metadata

GROUP: Final = "bank"
OWNER: Final = "team:bank"


@dg.asset(key=["bank", "accounts"], group_name=GROUP, owners=[OWNER], kinds={"iceberg"})
def accounts(
    context: dg.AssetExecutionContext,
    catalog: IcebergCatalog,
    transactions: dg.ResourceParam[TransactionsSource],
) -> dg.MaterializeResult[None]:
    """Opens at balance 0 each account of the transactions file that the table lacks; the others keep theirs."""
    iceberg, account_ids = catalog.load(), read_transactions(transactions.path()).account_ids()
    writer = Writer(context.run.run_id)
    first = ensure_account_table(iceberg, account_ids, writer=writer)
    launched = operations(Launch.of(context))
    receipt = first or open_accounts(
        iceberg, account_ids, operation_ids=launched.ids, issued_at_ms=launched.issued_at_ms, writer=writer
    )
    context.log.info(outcome_sentence(receipt))
    return dg.MaterializeResult(metadata=receipt_metadata(receipt))
