"""Ticks the conflict sensor as the daemon would, until it has nothing new to record."""

from __future__ import annotations

from typing import Final

import dagster as dg

from pipelines.resources import BankCatalog
from pipelines.sensors import record_conflicts

_TICKS_MAX: Final = 1_000


def tick_conflict_sensor(instance: dg.DagsterInstance) -> int:
    """Return how many conflicts were recorded; what the sensor materializes is stored in the instance."""
    cursor: str | None = None
    recorded = 0
    for _ in range(_TICKS_MAX):
        context = dg.build_sensor_context(instance=instance, cursor=cursor, resources={"catalog": BankCatalog()})
        tick = record_conflicts.evaluate_tick(context)
        for event in tick.asset_events:
            if isinstance(event, dg.AssetMaterialization):
                instance.report_runless_asset_event(event)
                recorded += int(str(event.metadata["conflicts_recorded"].value))
        if tick.cursor == cursor:
            break
        cursor = tick.cursor
    return recorded
