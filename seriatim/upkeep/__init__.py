"""The upkeep of a table that Seriatim and others write: history, small files, orphans, the ledger."""

from seriatim.upkeep.expiry import expire
from seriatim.upkeep.orphans import remove_orphans
from seriatim.upkeep.reports import ExpiryReport, Orphan, OrphanReport, Progress

__all__ = ["ExpiryReport", "Orphan", "OrphanReport", "Progress", "expire", "remove_orphans"]
