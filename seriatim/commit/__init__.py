"""The commit core: a change lands only on the base it was computed from, and never twice."""

from seriatim.commit.apply_change import apply
from seriatim.commit.base import Base
from seriatim.commit.change import Append, Change, Declared, Delete, Edit, NoChange, Rewrite, Upsert
from seriatim.commit.ledger_policy import LedgerPolicy
from seriatim.commit.loop import ANY_BASE
from seriatim.commit.observe import Event, Observer
from seriatim.commit.partitions import Partitions
from seriatim.commit.pinned_call import pinned
from seriatim.commit.policy import RetryPolicy
from seriatim.commit.receipt import Conflict, Receipt, Winner
from seriatim.commit.retention import RetentionPolicy
from seriatim.commit.streams import Stream
from seriatim.commit.writer import Writer

__all__ = [
    "ANY_BASE",
    "Append",
    "Base",
    "Change",
    "Conflict",
    "Declared",
    "Delete",
    "Edit",
    "Event",
    "LedgerPolicy",
    "NoChange",
    "Observer",
    "Partitions",
    "Receipt",
    "RetentionPolicy",
    "RetryPolicy",
    "Rewrite",
    "Stream",
    "Upsert",
    "Winner",
    "Writer",
    "apply",
    "pinned",
]
