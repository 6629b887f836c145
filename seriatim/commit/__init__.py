"""The commit core: a change lands only on the base it was computed from, and never twice."""

from seriatim.commit.base import Base
from seriatim.commit.change import Append, Change, NoChange, Rewrite
from seriatim.commit.loop import apply
from seriatim.commit.observe import Observer
from seriatim.commit.policy import RetryPolicy
from seriatim.commit.receipt import Conflict, Receipt, Winner
from seriatim.commit.writer import Writer

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
]
