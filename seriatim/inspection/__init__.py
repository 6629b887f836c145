"""Looking at a table without touching it: its commits, one operation, its conflicts."""

from seriatim.inspection.conflicts import recorded_conflicts
from seriatim.inspection.history import Commit, Cut, ForeignCommit, HistoryEntry, history
from seriatim.inspection.lookup import Applied, CannotTell, Lookup, NotApplied, lookup, lookup_in

__all__ = [
    "Applied",
    "CannotTell",
    "Commit",
    "Cut",
    "ForeignCommit",
    "HistoryEntry",
    "Lookup",
    "NotApplied",
    "history",
    "lookup",
    "lookup_in",
    "recorded_conflicts",
]
