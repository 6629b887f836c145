"""The commit core: a change lands only on the base it was computed from, and never twice.

What is exported here is imported when it is asked for: a policy or a name for a change needs no PyIceberg.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seriatim.lazy import exports

if TYPE_CHECKING:
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
    from seriatim.commit.turnstile.local import LocalTurnstile
    from seriatim.commit.turnstile.port import NO_TURNSTILE, Turnstile
    from seriatim.commit.writer import Writer
else:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "ANY_BASE": "loop",
            "Append": "change",
            "Base": "base",
            "Change": "change",
            "Conflict": "receipt",
            "Declared": "change",
            "Delete": "change",
            "Edit": "change",
            "Event": "observe",
            "LedgerPolicy": "ledger_policy",
            "LocalTurnstile": "turnstile.local",
            "NO_TURNSTILE": "turnstile.port",
            "NoChange": "change",
            "Observer": "observe",
            "Partitions": "partitions",
            "Receipt": "receipt",
            "RetentionPolicy": "retention",
            "RetryPolicy": "policy",
            "Rewrite": "change",
            "Stream": "streams",
            "Turnstile": "turnstile.port",
            "Upsert": "change",
            "Winner": "receipt",
            "Writer": "writer",
            "apply": "apply_change",
            "pinned": "pinned_call",
        },
    )

__all__ = [
    "ANY_BASE",
    "NO_TURNSTILE",
    "Append",
    "Base",
    "Change",
    "Conflict",
    "Declared",
    "Delete",
    "Edit",
    "Event",
    "LedgerPolicy",
    "LocalTurnstile",
    "NoChange",
    "Observer",
    "Partitions",
    "Receipt",
    "RetentionPolicy",
    "RetryPolicy",
    "Rewrite",
    "Stream",
    "Turnstile",
    "Upsert",
    "Winner",
    "Writer",
    "apply",
    "pinned",
]
