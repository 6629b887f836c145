"""A table of three accounts, reached by the resource as another project would."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from seriatim.dagster import IcebergCatalog
from tests.dagster_api.accounts import SCHEMA, TABLE, put
from tests.dagster_api.failing import Bench


@pytest.fixture
def catalog(tmp_path: Path) -> IcebergCatalog:
    """A catalog with the table: 1 has 100, 2 has 200, 3 has 300."""
    resource = IcebergCatalog(
        name="test", uri=f"sqlite:///{tmp_path}/catalog.db?timeout=60", warehouse=f"file://{tmp_path}/warehouse"
    )
    resource.ensure_table(TABLE, SCHEMA)
    put(resource, {1: 100, 2: 200, 3: 300})
    return resource


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """An instance in memory."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture
def bench(instance: dg.DagsterInstance, catalog: IcebergCatalog) -> Bench:
    """The sensor of failures on the table, switched on."""
    return Bench(instance, catalog)
