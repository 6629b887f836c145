"""Where the assets get the transactions file from; the code location decides."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class TransactionsSource(Protocol):
    """The Dagster resource that knows the file."""

    def path(self) -> Path:
        """Return the file to read, as it is named while the run runs."""
        ...
