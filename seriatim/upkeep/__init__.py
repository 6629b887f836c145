"""The upkeep of a table that Seriatim and others write: history, small files, orphans, the ledger."""

from seriatim.upkeep.orphans import remove_orphans
from seriatim.upkeep.reports import Orphan, OrphanReport, Progress

__all__ = ["Orphan", "OrphanReport", "Progress", "remove_orphans"]
