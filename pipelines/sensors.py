"""The sensors: one starts the mirror, one the postings of what is mirrored, one keeps bank.conflicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import dagster as dg

from assets.account_table import ACCOUNT_KEY
from assets.accounts import accounts
from assets.tables import CONFLICTS_KEY, CONFLICTS_TABLE
from assets.transactions_table import TRANSACTIONS_KEY, TRANSACTIONS_TABLE
from pipelines.jobs import mirror_transactions, posting_jobs
from seriatim.dagster import conflict_sensor
from seriatim.dagster.mirror_sensor import mirror_sensor

# On from the start: it only reads events, and the runs themselves do not depend on it.
record_conflicts: Final = conflict_sensor(
    name="record_conflicts",
    asset_key=ACCOUNT_KEY,
    conflicts_key=CONFLICTS_KEY,
    identifier=CONFLICTS_TABLE,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
mirror_new_versions: Final = mirror_sensor(
    name="mirror_new_versions",
    job=mirror_transactions,
    asset_key=TRANSACTIONS_KEY,
    identifier=TRANSACTIONS_TABLE,
    source_resource_key="transactions",
)


@dg.asset_sensor(
    asset_key=accounts.key,
    jobs=posting_jobs,
    name="post_what_is_mirrored",
    description="Launches every posting job once for each Delta version up to which accounts have been opened.",
    default_status=dg.DefaultSensorStatus.STOPPED,
)
def post_what_is_mirrored(
    context: dg.SensorEvaluationContext, asset_event: dg.EventLogEntry
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """Launch them all at once: they overlap on purpose."""
    del context
    event = asset_event.asset_materialization
    version = event.metadata.get("delta_version") if event is not None else None
    if version is None:
        yield dg.SkipReason("nothing is mirrored yet")
        return
    for job in posting_jobs:
        yield dg.RunRequest(run_key=f"{job.name}@{version.value}", job_name=job.name)
