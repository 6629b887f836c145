"""A Delta table and a place for its mirror, for each test its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog

from tests.mirror.hand_table import HandTable
from tests.mirror.targets import Target


@pytest.fixture
def source(tmp_path: Path) -> HandTable:
    """A Delta table of one version, without rows."""
    return HandTable(tmp_path / "delta")


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """A catalog with the namespace `mirrors`, whose tables lie beside what else there is under `tmp_path`."""
    made = SqlCatalog("mirrors", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/ice")
    made.create_namespace("mirrors")
    yield made
    made.engine.dispose()


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    """A catalog whose table is still to be made."""
    target = Target(tmp_path / "ice")
    yield target
    target.close()
