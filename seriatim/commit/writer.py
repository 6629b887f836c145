"""Who writes: recorded in each commit, so that a loser can be told who won."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Writer:
    """The run that makes a commit."""

    run_id: str | None = None  # None: not part of a run
