"""Who writes: recorded in each commit, so that a loser can be told who won."""

from __future__ import annotations

from dataclasses import dataclass, field

from seriatim.system import host_name


@dataclass(frozen=True, slots=True)
class Writer:
    """Who makes a commit: the run, and the machine."""

    run_id: str | None = None  # None: not part of a run
    host: str = field(default_factory=host_name)
