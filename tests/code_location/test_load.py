"""What loading the code location imports: every code server, daemon and command does it before anything else."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.code_location.scene import ROOT, TIMEOUT_S

HEAVY = ("deltalake", "numpy", "pandas", "pyarrow", "sqlalchemy")
ICEBERG = {"pyiceberg", "pyiceberg.exceptions", "pyiceberg.typedef"}  # Cheap, and some of our errors are PyIceberg's.
LOADING = """
import json, sys
import dagster
dagsters_own = set(sys.modules)
from pipelines.definitions import defs
defs.get_repository_def().get_all_jobs()
print(json.dumps(sorted(set(sys.modules) - dagsters_own)))
"""


def test_definitions_load_without_what_only_runs_need() -> None:
    """PyIceberg, PyArrow and SQLAlchemy take longer to import than Dagster; runs, ticks and checks import them."""
    loading = [sys.executable, "-c", LOADING]
    printed = subprocess.run(loading, cwd=ROOT, capture_output=True, text=True, check=True, timeout=TIMEOUT_S).stdout

    imported = json.loads(printed)
    assert "seriatim.dagster.catalog" in imported
    assert {name for name in imported if name.partition(".")[0] in HEAVY} == set()
    assert {name for name in imported if name.partition(".")[0] == "pyiceberg"} <= ICEBERG
