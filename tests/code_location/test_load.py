"""What loading the code location imports: every code server, daemon and command does it before anything else."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.code_location.scene import ROOT, TIMEOUT_S

HEAVY = ("deltalake", "numpy", "pandas", "pyarrow", "sqlalchemy")
ICEBERG = {"pyiceberg", "pyiceberg.exceptions", "pyiceberg.typedef"}  # Cheap, and some of our errors are PyIceberg's.
CODE = """
import json, sys
import dagster
dagsters_own = set(sys.modules)
{code}
print(json.dumps(sorted(set(sys.modules) - dagsters_own)))
"""


@pytest.mark.parametrize(
    "code",
    ["from pipelines.definitions import defs; defs.get_repository_def().get_all_jobs()", "import seriatim.dagster"],
    ids=["the bank", "the library"],
)
def test_definitions_load_without_what_only_runs_need(code: str) -> None:
    """PyIceberg, PyArrow and SQLAlchemy take longer to import than Dagster; runs, ticks and checks import them."""
    loading = [sys.executable, "-c", CODE.format(code=code)]
    printed = subprocess.run(loading, cwd=ROOT, capture_output=True, text=True, check=True, timeout=TIMEOUT_S).stdout

    imported = json.loads(printed)
    assert "seriatim.dagster.catalog" in imported
    assert {name for name in imported if name.partition(".")[0] in HEAVY} == set()
    assert {name for name in imported if name.partition(".")[0] == "pyiceberg"} <= ICEBERG
