"""Tables that are measured side by side lie in block groups of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.block_groups import spread


@pytest.mark.skipif(sys.platform != "linux", reason="the flag is one of Linux's file systems")
def test_folders_in_the_place_of_a_benchmark_are_spread_over_block_groups(tmp_path: Path) -> None:
    """As e2fsprogs' own command sees the flag."""
    try:
        before = subprocess.run(["lsattr", "-d", tmp_path], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there is no lsattr, or the file system has no such flags")

    spread(tmp_path)

    after = subprocess.run(["lsattr", "-d", tmp_path], capture_output=True, text=True, check=True).stdout
    assert "T" not in before.split()[0]
    assert "T" in after.split()[0]
    (tmp_path / "table").mkdir()


@pytest.mark.skipif(not Path("/proc").exists(), reason="there is no file system without such flags to try")
def test_a_file_system_without_block_groups_is_left_as_it_is() -> None:
    spread(Path("/proc"))
