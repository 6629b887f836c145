"""The job that mirrors, one for each kind of transactions, and those that keep the tables in order and check them."""

from __future__ import annotations

from typing import Final

import dagster as dg

from assets.accounts import accounts
from assets.postings import postings
from assets.tables import account_upkeep, checks, conflicts_upkeep
from assets.transactions_table import transactions

mirror_transactions: Final = dg.define_asset_job(
    "mirror_transactions",
    selection=dg.AssetSelection.assets(transactions, accounts).without_checks(),  # The job `audit` runs those.
    description="Mirrors what is new in the Delta table of transactions, and opens the accounts that it names anew.",
)
posting_jobs: Final = [
    dg.define_asset_job(
        f"post_{asset.key.path[-1]}",
        selection=[asset],
        description=f"Posts new {asset.key.path[-1].replace('_', ' ')} transactions onto bank.account.",
    )
    for asset in postings
]
upkeep: Final = dg.define_asset_job(
    "upkeep",
    selection=[account_upkeep, conflicts_upkeep],
    description="Expires history, compacts small files and removes orphans of the bank's tables.",
)
audit: Final = dg.define_asset_job(
    "audit",
    selection=dg.AssetSelection.checks(*checks),
    description="Judges from the tables alone whether updates were lost, and whether accounts and mirror are late.",
)
