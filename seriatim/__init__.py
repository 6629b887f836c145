"""Overlapping runs, serial results: exactly-once read-modify-write for Apache Iceberg tables.

What is exported here is imported when it is asked for: PyIceberg and PyArrow take seconds, which `seriatim --help` has
no use for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seriatim.lazy import exports

if TYPE_CHECKING:
    from seriatim.account import commit_with_retry, read_balance
    from seriatim.commit import (
        ANY_BASE,
        NO_TURNSTILE,
        Append,
        Base,
        Change,
        Conflict,
        Declared,
        Delete,
        Edit,
        Event,
        LedgerPolicy,
        LocalTurnstile,
        NoChange,
        Observer,
        Partitions,
        Receipt,
        RetentionPolicy,
        RetryPolicy,
        Rewrite,
        Stream,
        Turnstile,
        Upsert,
        Winner,
        Writer,
        apply,
        pinned,
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
    "commit_with_retry",
    "pinned",
    "read_balance",
]

if not TYPE_CHECKING:
    _homes = dict.fromkeys(__all__, "commit") | dict.fromkeys(("commit_with_retry", "read_balance"), "account")
    __getattr__, __dir__ = exports(__name__, _homes, modules=("account", "commit", "errors", "mirror"))
