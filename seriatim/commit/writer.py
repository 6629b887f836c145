"""Who writes: recorded in each commit, so that a loser can be told who won."""

from __future__ import annotations

from dataclasses import dataclass, field

from seriatim.commit.texts import require_text
from seriatim.system import host_name


@dataclass(frozen=True, slots=True)
class Writer:
    """Who makes a commit: the run, and the machine."""

    run_id: str | None = None  # None: not part of a run
    host: str = field(default_factory=host_name)

    def __post_init__(self) -> None:
        """Refuse what is no text: a snapshot's summary has texts alone (Iceberg spec).

        Raises:
            InvalidChangeError: the run id or the host is no text.
        """
        for name, value in (("run_id", self.run_id), ("host", self.host)):
            if value is not None or name == "host":
                require_text(f"a writer's {name}", value)
