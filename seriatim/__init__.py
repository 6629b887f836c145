"""Overlapping runs, serial results: exactly-once read-modify-write for Apache Iceberg tables.

What is exported here is imported when it is asked for: PyIceberg and PyArrow take seconds, which `seriatim --help` has
no use for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seriatim.account import commit_with_retry, read_balance
    from seriatim.commit import (
        ANY_BASE,
        Append,
        Base,
        Change,
        Conflict,
        Declared,
        Delete,
        Edit,
        Event,
        LedgerPolicy,
        NoChange,
        Observer,
        Partitions,
        Receipt,
        RetentionPolicy,
        RetryPolicy,
        Rewrite,
        Stream,
        Upsert,
        Winner,
        Writer,
        apply,
        pinned,
    )

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
    "commit_with_retry",
    "pinned",
    "read_balance",
]

_OF_ACCOUNT = ("commit_with_retry", "read_balance")
_MODULES = ("account", "commit", "errors", "mirror")


def __getattr__(name: str) -> object:
    """Import what is exported, or a module that is used as an attribute, on first use."""
    if name in __all__:
        home = "seriatim.account" if name in _OF_ACCOUNT else "seriatim.commit"
        value = globals()[name] = getattr(import_module(home), name)
        return value
    if name in _MODULES:
        return import_module(f"seriatim.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
