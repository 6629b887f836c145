"""What a system must do to be compared."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, Protocol


class Spent(NamedTuple):
    """What one increment that landed took."""

    attempts: int = 1
    computations: int = 1


class Session(Protocol):
    """A table as one process, or one thread, works on it."""

    def increment(self) -> Spent:
        """Read the counter anew, and commit one more."""
        ...

    def read(self) -> int:
        """Return by how much the table was incremented in all."""
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...


class System(Protocol):
    """One way to keep a counter in a folder, which several processes may share; it can be pickled."""

    @property
    def name(self) -> str:
        """What a report calls it."""
        ...

    @property
    def requires(self) -> tuple[str, ...]:
        """The modules without which it cannot be measured."""
        ...

    def create(self, folder: Path) -> None:
        """Make the table, with a counter of 0."""
        ...

    def session(self, folder: Path, worker: int = 0) -> Session:
        """Open the table."""
        ...

    def orphans(self, folder: Path, commits: int) -> int | None:
        """Return how many data files no commit has put into the table, after so many. None: it cannot be counted."""
        ...


class Contended(System, Protocol):
    """A system that raises when its increment has lost a race, and has left the table as it was."""

    @property
    def conflicts(self) -> tuple[type[Exception], ...]:
        """What it raises then."""
        ...


def is_installed(system: System) -> bool:
    """Tell whether the system can be measured here."""
    return all(find_spec(module) is not None for module in system.requires)
