"""What others install is the library alone."""

from __future__ import annotations

import subprocess
import zipfile
from typing import TYPE_CHECKING

import pytest

import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_the_wheel_holds_the_library_and_nothing_else(tmp_path: Path) -> None:
    """The code location and the oracle are the checkout's; `py.typed` lets others check against our types."""
    uv = run.ensure_tools()
    assert uv is not None
    command = [str(uv), "build", "--quiet", "--wheel", "--out-dir", str(tmp_path), str(run.ROOT)]
    subprocess.run(command, check=True, env=run.uv_variables(), timeout=300)

    with zipfile.ZipFile(tmp_path / "seriatim-0.1.0-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
        metadata = wheel.read("seriatim-0.1.0.dist-info/METADATA").decode()

    modules = {str(path.relative_to(run.ROOT)) for path in (run.ROOT / "seriatim").rglob("*.py")}
    assert {name for name in names if ".dist-info/" not in name} == modules | {"seriatim/py.typed"}
    assert "seriatim-0.1.0.dist-info/licenses/LICENSE" in names
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert needed == ["Requires-Dist: pyarrow>=17", "Requires-Dist: pyiceberg<0.13,>=0.10"]
