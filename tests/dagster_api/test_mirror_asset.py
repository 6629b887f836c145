"""`mirror_asset`: a Delta table as an Iceberg table, by an asset that a stranger's project has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from seriatim.dagster import IcebergCatalog
from seriatim.dagster.delta_source import DeltaTableSource
from seriatim.dagster.mirror_asset import mirror_asset
from tests.dagster_api.accounts import failure_of, told

EVENTS = mirror_asset(key=dg.AssetKey("events"), identifier=("lake", "events"), source_key=dg.AssetKey("source"))


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    """A Delta table of three versions, one row each."""
    for n in range(3):
        write_deltalake(tmp_path / "events", pa.table({"n": [n]}), mode="append")
    return tmp_path / "events"


def materialize(catalog: IcebergCatalog, delta: Path, **config: Any) -> dg.ExecuteInProcessResult:
    resources = {"catalog": catalog, "delta": DeltaTableSource(table_uri=str(delta))}
    run_config = {"ops": {"events": {"config": config}}}
    return dg.materialize([EVENTS], resources=resources, run_config=run_config, raise_on_error=False)


def rows(catalog: IcebergCatalog) -> list[int]:
    return sorted(catalog.load().load_table("lake.events").scan().to_arrow()["n"].to_pylist())


def test_each_version_lands_once_and_the_run_tells_which(catalog: IcebergCatalog, delta: Path) -> None:
    """Up to a version first, then what is left, then nothing."""
    results = [materialize(catalog, delta, upto=1, batch=1), materialize(catalog, delta), materialize(catalog, delta)]

    first, second, third = (told(result, "events") for result in results)
    assert rows(catalog) == [0, 1, 2]
    assert [each["versions_landed"] for each in (first, second, third)] == ["0-1", "2", "none"]
    assert [each["lag"] for each in (first, second, third)] == [1, 0, 0]
    assert (first["commits"], second["commits"], third["commits"]) == (2, 1, 0)
    assert second["dagster/row_count"] == 3
    assert "Delta version 2" in second["lineage"].splitlines()[2]


def test_a_source_that_is_not_there_fails_the_run_and_makes_no_table(catalog: IcebergCatalog, tmp_path: Path) -> None:
    result = materialize(catalog, tmp_path / "nothing")

    assert not result.success
    assert str(tmp_path / "nothing") in failure_of(result)
    assert not catalog.load().table_exists("lake.events")
