"""Overlapping runs, serial results: exactly-once read-modify-write for Apache Iceberg tables."""

from seriatim.account import commit_with_retry, read_balance
from seriatim.commit import (
    Append,
    Base,
    Change,
    Conflict,
    NoChange,
    Observer,
    Receipt,
    RetryPolicy,
    Rewrite,
    Winner,
    Writer,
    apply,
)

__all__ = [
    "Append",
    "Base",
    "Change",
    "Conflict",
    "NoChange",
    "Observer",
    "Receipt",
    "RetryPolicy",
    "Rewrite",
    "Winner",
    "Writer",
    "apply",
    "commit_with_retry",
    "read_balance",
]
