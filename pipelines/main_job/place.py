"""Where one main job keeps everything: its catalog, warehouse, Dagster instance, logs and generated bank."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from pipelines.resources import CATALOG_URI, DELTA, TRANSACTIONS, WAREHOUSE, generated_bank, local_folder

_FIRST_DAY: Final = date(1993, 1, 1)
_LOCK_WAIT_S_MAX: Final = 60


class PlaceError(Exception):
    """The main job cannot run there; nothing was touched."""


@dataclass(frozen=True, slots=True)
class Place:
    """A fresh folder, and the transactions to post."""

    home: Path
    transactions: Path

    @property
    def dagster_home(self) -> Path:
        """Return the folder of the Dagster instance."""
        return self.home / "dagster"

    @property
    def delta(self) -> Path:
        """Return the folder of the Delta table."""
        return self.home / "bank_transactions"

    def environment(self) -> Mapping[str, str]:
        """Return what the runs must find in their environment."""
        return {
            "DAGSTER_HOME": str(self.dagster_home),
            "DAGSTER_DISABLE_TELEMETRY": "1",
            CATALOG_URI: f"sqlite:///{self.home / 'catalog.db'}?timeout={_LOCK_WAIT_S_MAX}",
            WAREHOUSE: f"file://{self.home / 'warehouse'}",
            DELTA: str(self.delta),
        }


def make_place(home: Path | None) -> Place:
    """Make the folder, `.seriatim/demo` made anew when none is named, and find or generate the transactions.

    Raises:
        PlaceError: the named folder is not empty.
    """
    if home is None:
        home = local_folder() / "demo"
        shutil.rmtree(home, ignore_errors=True)
    home = home.resolve()
    if home.exists() and any(home.iterdir()):
        raise PlaceError(f"{home} is not empty; name a new folder, the main job starts from nothing")
    home.mkdir(parents=True, exist_ok=True)
    named = os.environ.get(TRANSACTIONS)
    return Place(home, Path(named).resolve() if named else generated_bank(home / "bank.parquet", _FIRST_DAY))
