"""The command that materializes one partition, for an asset that another project wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from seriatim.dagster import IcebergCatalog
from tests.code_location.scene import TIMEOUT_S, typed
from tests.dagster_api.accounts import balances

PROJECT = """
import dagster as dg
from seriatim.dagster import IcebergCatalog
from tests.dagster_api.accounts import daily

catalog = IcebergCatalog(name="test", uri=dg.EnvVar("MY_URI"), warehouse=dg.EnvVar("MY_WAREHOUSE"))
defs = dg.Definitions([daily()], resources={"catalog": catalog})
"""


@pytest.mark.slow
@pytest.mark.documented(
    ".venv/bin/dagster asset materialize -m my_project.definitions --select daily_deposit --partition tue"
)
def test_a_partition_is_applied_once(catalog: IcebergCatalog, tmp_path: Path, documented: tuple[str, ...]) -> None:
    """Two commands at once, for the same one: whichever comes first does it, and the other finds it done."""
    (tmp_path / "my_project").mkdir()
    (tmp_path / "my_project" / "definitions.py").write_text(PROJECT, encoding="utf-8")
    places = {"MY_URI": catalog.uri, "MY_WAREHOUSE": catalog.warehouse, "PYTHONPATH": str(tmp_path)}

    processes = [typed(documented[0], places) for _ in range(2)]
    outputs = [process.communicate(timeout=TIMEOUT_S)[0] for process in processes]

    assert [process.returncode for process in processes] == [0, 0], outputs
    assert balances(catalog) == {1: 110, 2: 200, 3: 300}
    assert sum("already applied" in output for output in outputs) == 1
