"""Commands on the assets of another project: one of a partition, one of a tick that was missed."""

from __future__ import annotations

import json
import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

from seriatim.dagster import IcebergCatalog, tick_tags
from tests.code_location.scene import TIMEOUT_S, typed
from tests.dagster_api.accounts import balances

PROJECT = """
import dagster as dg
from seriatim.dagster import IcebergCatalog
from tests.dagster_api.accounts import daily, deposit

catalog = IcebergCatalog(name="test", uri=dg.EnvVar("MY_URI"), warehouse=dg.EnvVar("MY_WAREHOUSE"))
job = dg.define_asset_job("nightly_deposit", ["deposit"])
defs = dg.Definitions([daily(), deposit()], jobs=[job], resources={"catalog": catalog})
"""


@pytest.fixture
def places(catalog: IcebergCatalog, tmp_path: Path) -> dict[str, str]:
    """The variables by which the project is found, and its catalog."""
    (tmp_path / "my_project").mkdir()
    (tmp_path / "my_project" / "definitions.py").write_text(PROJECT, encoding="utf-8")
    return {"MY_URI": catalog.uri, "MY_WAREHOUSE": catalog.warehouse, "PYTHONPATH": str(tmp_path)}


@pytest.mark.slow
@pytest.mark.documented(
    ".venv/bin/dagster asset materialize -m my_project.definitions --select daily_deposit --partition tue"
)
def test_a_partition_is_applied_once(
    catalog: IcebergCatalog, places: dict[str, str], documented: tuple[str, ...]
) -> None:
    """Two commands at once, for the same one: whichever comes first does it, and the other finds it done."""
    processes = [typed(documented[0], places) for _ in range(2)]
    outputs = [process.communicate(timeout=TIMEOUT_S)[0] for process in processes]

    assert [process.returncode for process in processes] == [0, 0], outputs
    assert balances(catalog) == {1: 110, 2: 200, 3: 300}
    assert sum("already applied" in output for output in outputs) == 1


@pytest.mark.slow
@pytest.mark.documented(
    ".venv/bin/dagster job execute -m my_project.definitions -j nightly_deposit --tags "
    '\'{"dagster/schedule_name": "nightly", ".dagster/scheduled_execution_time": "2026-11-02T01:30:00+00:00"}\''
)
def test_a_tick_that_was_missed_is_made_up_for_once(
    catalog: IcebergCatalog, places: dict[str, str], documented: tuple[str, ...]
) -> None:
    """By hand twice: the second command is the change that the first one made, as the scheduler's own run would be."""
    tags = json.loads(shlex.split(documented[0])[-1])
    assert tags == tick_tags("nightly", datetime(2026, 11, 2, 1, 30, tzinfo=UTC))

    outputs = []
    for _ in range(2):
        process = typed(documented[0], places)
        outputs.append(process.communicate(timeout=TIMEOUT_S)[0])
        assert process.returncode == 0, outputs

    assert balances(catalog) == {1: 110, 2: 200, 3: 300}
    assert ["already applied" in output for output in outputs] == [False, True]
