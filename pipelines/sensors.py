"""The sensors: two start runs, for the mirror and for what it has mirrored; three watch what becomes of them.

Those that watch keep bank.conflicts, tell of too many conflicts, and say of failed runs what of them has landed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import dagster as dg

from assets.account_table import ACCOUNT_KEY, ACCOUNT_TABLE
from assets.accounts import accounts
from assets.postings import postings
from assets.tables import CONFLICTS_KEY, CONFLICTS_TABLE
from assets.transactions_table import TRANSACTIONS_KEY, TRANSACTIONS_TABLE
from pipelines.jobs import mirror_transactions, posting_jobs
from seriatim.dagster import alert_sensor, conflict_sensor, failure_sensor
from seriatim.dagster.mirror_sensor import mirror_sensor

# Those that watch are on from the start: they only read, and no run depends on them.
record_conflicts: Final = conflict_sensor(
    name="record_conflicts",
    asset_key=ACCOUNT_KEY,
    conflicts_key=CONFLICTS_KEY,
    identifier=CONFLICTS_TABLE,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
# Fourteen jobs at one minute meet up to 91 conflicts, and the unluckiest needs 14 attempts: that is as it should be.
alert_on_conflicts: Final = alert_sensor(
    name="alert_on_conflicts",
    asset_key=ACCOUNT_KEY,
    conflicts_max=200,
    attempts_max=20,
    notifier_resource_key="alerts",
    default_status=dg.DefaultSensorStatus.RUNNING,
)
tell_failures: Final = failure_sensor(
    name="tell_failures",
    asset_key=ACCOUNT_KEY,
    identifier=ACCOUNT_TABLE,
    writers=[accounts.key, *(asset.key for asset in postings)],
    # Each of them is a stream of its own, which has the asset's name.
    streams={asset.key: "/".join(asset.key.path) for asset in (accounts, *postings)},
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
