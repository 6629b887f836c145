"""The upkeep of a table that Seriatim and others write: history, small files, orphans, the ledger."""

from seriatim.upkeep.compaction import compact, plan_compaction
from seriatim.upkeep.expiry import expire
from seriatim.upkeep.fold import fold, repair
from seriatim.upkeep.maintenance import maintain
from seriatim.upkeep.orphans import remove_orphans
from seriatim.upkeep.reports import (
    CompactionPlan,
    ExpiryReport,
    Orphan,
    OrphanReport,
    Progress,
    RepairReport,
    UpkeepReport,
)

__all__ = [
    "CompactionPlan",
    "ExpiryReport",
    "Orphan",
    "OrphanReport",
    "Progress",
    "RepairReport",
    "UpkeepReport",
    "compact",
    "expire",
    "fold",
    "maintain",
    "plan_compaction",
    "remove_orphans",
    "repair",
]
