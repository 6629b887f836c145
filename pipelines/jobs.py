"""One job for each kind of transactions, and those that open accounts, keep the tables in order, and audit them."""

from __future__ import annotations

from typing import Final

import dagster as dg

from assets.accounts import accounts
from assets.postings import postings
from assets.tables import account_audit, account_upkeep, conflicts_upkeep

open_accounts: Final = dg.define_asset_job(
    "open_accounts", selection=[accounts], description="Opens the accounts that the transactions file names anew."
)
posting_jobs: Final = [
    dg.define_asset_job(
        f"post_{asset.key.path[-1]}",
        selection=[asset],
        description=f"Posts a day's {asset.key.path[-1].replace('_', ' ')} transactions onto bank.account.",
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
    selection=dg.AssetSelection.checks(account_audit),
    description="Judges from the account table alone whether updates were lost.",
)
