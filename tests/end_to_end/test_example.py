"""The example of another project: with nothing but the wheel, overlapping commands keep one customer dimension."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import run
from seriatim.dagster import IcebergCatalog

EXAMPLE = run.ROOT / "docs" / "examples" / "customer_dimension.py"
SYSTEMS = ("shop", "support", "newsletter")
DAYS = ("2026-11-01", "2026-11-02")
TIMEOUT_S = 300

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dagster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `dagster` command of a fresh environment that has the wheel, with the extra that the example names."""
    folder = tmp_path_factory.mktemp("installed")
    uv = run.ensure_tools()
    assert uv is not None
    uv_run(uv, "build", "--wheel", "--out-dir", str(folder), str(run.ROOT))
    (wheel,) = folder.glob("*.whl")
    uv_run(uv, "venv", str(folder / "env"))
    uv_run(uv, "pip", "install", "--python", str(folder / "env"), f"{wheel}[dagster]")
    return folder / "env" / "bin" / "dagster"


def uv_run(uv: Path, *arguments: str) -> None:
    subprocess.run([str(uv), *arguments, "--quiet"], check=True, env=run.uv_variables(), timeout=TIMEOUT_S)


def feeds(folder: Path) -> Counter[str]:
    """Write what each system knows of each day; return how often each customer is heard of."""
    heard: Counter[str] = Counter()
    (folder / "feeds").mkdir()
    for number, (system, day) in enumerate((system, day) for system in SYSTEMS for day in DAYS):
        emails = [f"{name}@example.org" for name in ("ada", "bob", f"only{number}")]
        heard.update(emails)
        lines = ["email,name", *(f"{email},{system} {day}" for email in emails)]
        (folder / "feeds" / f"{system}-{day}.csv").write_text("\n".join(lines))
    return heard


def test_overlapping_upserts_count_every_customer_once_per_feed(dagster: Path, tmp_path: Path) -> None:
    """All systems and days at once; then one of them again, which changes nothing."""
    heard = feeds(tmp_path)
    places = {"uri": f"sqlite:///{tmp_path}/catalog.db?timeout=60", "warehouse": f"file://{tmp_path}/warehouse"}
    variables = {"CATALOG_URI": places["uri"], "WAREHOUSE": places["warehouse"], "DAGSTER_DISABLE_TELEMETRY": "1"}

    def start(system: str, day: str) -> subprocess.Popen[str]:
        words = ["asset", "materialize", "-f", str(EXAMPLE), "--select", system, "--partition", day]
        return subprocess.Popen(
            [str(dagster), *words],
            cwd=tmp_path,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    at_once = [start(system, day) for system in SYSTEMS for day in DAYS]
    outputs = [process.communicate(timeout=TIMEOUT_S)[0] for process in at_once]
    assert [process.returncode for process in at_once] == [0] * len(at_once), outputs
    again = start("shop", DAYS[0])
    said, _ = again.communicate(timeout=TIMEOUT_S)

    assert again.returncode == 0, said
    assert "already applied at snapshot" in said
    table = IcebergCatalog(uri=places["uri"], warehouse=places["warehouse"]).load().load_table("sales.customer")
    rows = table.scan().to_arrow().to_pylist()
    assert {row["email"]: row["contacts"] for row in rows} == dict(heard)
    assert len(rows) == len(heard)
