"""The two Iceberg tables, as assets that no run materializes, since many jobs write them; upkeep and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

import dagster as dg

from assets.account_table import ACCOUNT_INVARIANTS, ACCOUNT_KEY, ACCOUNT_TABLE
from assets.postings import postings
from assets.transactions_table import GROUP, OWNER, TRANSACTIONS_KEY, TRANSACTIONS_TABLE
from seriatim.audit import Invariant, UniqueKey
from seriatim.dagster import audit_checks, freshness_check, mirror_lag_check, upkeep_assets

CONFLICTS_TABLE: Final = ("bank", "conflicts")
CONFLICTS_KEY: Final = dg.AssetKey([*CONFLICTS_TABLE])
# What must be true of each table after every commit.
INVARIANTS: Final[Mapping[tuple[str, str], Sequence[Invariant]]] = {
    ACCOUNT_TABLE: ACCOUNT_INVARIANTS,
    CONFLICTS_TABLE: (UniqueKey("event_id"),),
    TRANSACTIONS_TABLE: (UniqueKey("trans_id"),),
}

account: Final = dg.AssetSpec(
    ACCOUNT_KEY,
    deps=[*postings],
    description="The table bank.account itself: the balance of every account, in minor units. Each conflict on it is "
    "an observation of this asset, made at once by the run that lost.",
    group_name=GROUP,
    owners=[OWNER],
    kinds={"iceberg"},
)
conflicts: Final = dg.AssetSpec(
    CONFLICTS_KEY,
    deps=[ACCOUNT_KEY],
    description="The table bank.conflicts: every conflict on bank.account once. Who lost to whom, both runs and "
    "operations, the snapshots, the attempt, and the time that it cost. Written by the sensor record_conflicts.",
    group_name=GROUP,
    owners=[OWNER],
    kinds={"iceberg"},
)
account_upkeep, conflicts_upkeep = upkeep_assets(
    {ACCOUNT_KEY: ACCOUNT_TABLE, CONFLICTS_KEY: CONFLICTS_TABLE}, group_name=GROUP, owners=[OWNER]
)
checks: Final = [
    *(
        audit_checks(asset_key=dg.AssetKey([*table]), identifier=table, invariants=invariants)
        for table, invariants in INVARIANTS.items()
    ),
    # A day brings a Delta version at least, and each is posted by a commit, also where it has nothing of a kind.
    freshness_check(asset_key=ACCOUNT_KEY, identifier=ACCOUNT_TABLE, age_max=timedelta(hours=26)),
    mirror_lag_check(
        asset_key=TRANSACTIONS_KEY,
        identifier=TRANSACTIONS_TABLE,
        versions_max=5,
        source_resource_key="transactions",
    ),
]
