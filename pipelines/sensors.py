"""The sensor that keeps bank.conflicts."""

from __future__ import annotations

from typing import Final

import dagster as dg

from assets.account_table import ACCOUNT_KEY
from assets.tables import CONFLICTS_KEY, CONFLICTS_TABLE
from seriatim.dagster import conflict_sensor

# On from the start: it only reads events, and the runs themselves do not depend on it.
record_conflicts: Final = conflict_sensor(
    name="record_conflicts",
    asset_key=ACCOUNT_KEY,
    conflicts_key=CONFLICTS_KEY,
    identifier=CONFLICTS_TABLE,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
