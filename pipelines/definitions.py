"""The code location: everything that Dagster is to know of, in one place."""

import dagster as dg

from assets.accounts import accounts
from assets.postings import postings
from assets.tables import account, account_upkeep, checks, conflicts, conflicts_upkeep
from assets.transactions_table import source, transactions
from pipelines.jobs import audit, mirror_transactions, posting_jobs, upkeep
from pipelines.resources import Alerts, BankCatalog, TransactionsDelta
from pipelines.schedules import daily_schedules, upkeep_daily
from pipelines.sensors import (
    alert_on_conflicts,
    mirror_new_versions,
    post_what_is_mirrored,
    record_conflicts,
    tell_failures,
)

defs = dg.Definitions(
    assets=[source, transactions, accounts, *postings, account, conflicts, account_upkeep, conflicts_upkeep],
    asset_checks=checks,
    jobs=[mirror_transactions, *posting_jobs, upkeep, audit],
    schedules=[*daily_schedules, upkeep_daily],
    sensors=[mirror_new_versions, post_what_is_mirrored, record_conflicts, alert_on_conflicts, tell_failures],
    resources={"catalog": BankCatalog(), "transactions": TransactionsDelta(), "alerts": Alerts()},
    executor=dg.in_process_executor,  # The steps of a run are one or two: processes for them would cost seconds.
)
