"""The age of a table's newest commit as an asset check.

Dagster's own freshness checks and policies look for materializations, of which a table that no run materializes has
none. The table itself says when it was written last.
"""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
from datetime import timedelta
from typing import TYPE_CHECKING

import dagster as dg
from pyiceberg.exceptions import NoSuchTableError

from seriatim.system import Clock, SystemClock

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot


def freshness_check(
    *,
    asset_key: dg.AssetKey,
    identifier: tuple[str, ...],
    age_max: timedelta,
    branch: str = "main",
    catalog_key: str = "catalog",
    name: str = "fresh",
    clock: Clock | None = None,
) -> dg.AssetChecksDefinition:
    """Make the check that the newest commit to the table `identifier` is at most `age_max` old, else a warning.

    A commit that only compacts (`replace`) does not count: nothing new has come by it. One without rows does, such as a
    stream's step over what had none for it: somebody has looked. `catalog_key` is the resource that opens the catalog.
    """
    clock = clock or SystemClock()

    @dg.asset_check(
        asset=asset_key,
        name=name,
        required_resource_keys={catalog_key},
        description=f"The newest commit to {'.'.join(identifier)} that is no compaction is at most {age_max} old.",
    )
    def check(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        try:
            table = getattr(context.resources, catalog_key).load().load_table(identifier)
        except NoSuchTableError:
            return _stale("There is no table yet.")
        return _result(newest_commit(table, branch), clock.now_ms(), age_max)

    return check


def newest_commit(table: "Table", branch: str = "main") -> "Snapshot | None":
    """Return the newest snapshot of a branch that is no compaction; None: there is none, or it is expired."""
    from pyiceberg.table.snapshots import Operation

    from seriatim.commit.lineage import walk

    head = table.snapshot_by_name(branch)
    for snapshot in walk(table.metadata, None if head is None else head.snapshot_id):
        if snapshot.summary is None or snapshot.summary.operation is not Operation.REPLACE:
            return snapshot
    return None


def _result(newest: "Snapshot | None", now_ms: int, age_max: timedelta) -> dg.AssetCheckResult:
    if newest is None:
        return _stale("The history holds no commit, or compactions alone.")
    age = timedelta(milliseconds=max(0, now_ms - newest.timestamp_ms))
    age_s = round(age.total_seconds())
    said = f"is {timedelta(seconds=age_s)} old, {age_max} allowed"
    return dg.AssetCheckResult(
        passed=age <= age_max,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"The newest commit, snapshot {newest.snapshot_id}, {said}.",
        metadata={
            "snapshot_id": dg.MetadataValue.text(str(newest.snapshot_id)),
            "dagster/last_updated_timestamp": dg.MetadataValue.timestamp(newest.timestamp_ms / 1000),
            "age_s": dg.MetadataValue.int(age_s),
            "age_s_max": dg.MetadataValue.float(age_max.total_seconds()),
        },
    )


def _stale(why: str) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN, description=why)
