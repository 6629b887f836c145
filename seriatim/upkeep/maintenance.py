"""One round of upkeep, in the order in which each step leaves work for the next."""

from __future__ import annotations

from collections.abc import Callable

from pyiceberg.catalog import Catalog
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.typedef import Identifier

from seriatim.commit import RetentionPolicy, RetryPolicy
from seriatim.system import Clock
from seriatim.upkeep.compaction import TARGET_BYTES, compact, plan_compaction
from seriatim.upkeep.expiry import expire
from seriatim.upkeep.orphans import remove_orphans
from seriatim.upkeep.reports import Progress, UpkeepReport


def maintain(
    catalog: Catalog,
    identifier: str | Identifier,
    *,
    dry_run: bool = True,
    retention: RetentionPolicy | None = None,
    older_than_s: float = 3 * 24 * 3600,
    target_bytes: int = TARGET_BYTES,
    branch: str = MAIN_BRANCH,
    policy: RetryPolicy | None = None,
    clock: Clock | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> UpkeepReport:
    """Expire history, compact the branch, and remove orphans, each as by itself.

    A dry run tells what each would do on the table as it is: not the orphans that expiry would make. The mirror of a
    Delta table is not compacted.

    Raises:
        As `expire`, `compact` and `remove_orphans`; what the steps before did stays done.
    """
    expiry = expire(catalog, identifier, retention=retention, dry_run=dry_run, policy=policy, clock=clock)
    plan = plan_compaction(catalog, identifier, target_bytes=target_bytes, branch=branch)
    receipt = None
    if not dry_run and plan.files:
        receipt = compact(catalog, identifier, target_bytes=target_bytes, branch=branch, policy=policy, clock=clock)
    orphans = remove_orphans(
        catalog, identifier, older_than_s=older_than_s, dry_run=dry_run, clock=clock, progress=progress
    )
    return UpkeepReport(expiry, plan, orphans, receipt)
