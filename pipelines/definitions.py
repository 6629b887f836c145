"""The code location: everything that Dagster is to know of, in one place."""

import dagster as dg

from assets.accounts import accounts
from assets.postings import postings
from assets.tables import account, account_audit, account_upkeep, conflicts, conflicts_upkeep
from pipelines.jobs import audit, open_accounts, posting_jobs, upkeep
from pipelines.resources import BankCatalog, TransactionsFile
from pipelines.schedules import daily_schedules, upkeep_daily
from pipelines.sensors import record_conflicts

defs = dg.Definitions(
    assets=[accounts, *postings, account, conflicts, account_upkeep, conflicts_upkeep],
    asset_checks=[account_audit],
    jobs=[open_accounts, *posting_jobs, upkeep, audit],
    schedules=[*daily_schedules, upkeep_daily],
    sensors=[record_conflicts],
    resources={"catalog": BankCatalog(), "transactions": TransactionsFile()},
    executor=dg.in_process_executor,  # Each run has one step: another process for it would cost seconds.
)
