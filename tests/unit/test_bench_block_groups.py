"""Tables that are measured side by side lie in block groups of their own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks.benchmark import Benchmark, Found, Setting
from benchmarks.block_groups import spread
from benchmarks.registry import BENCHMARKS
from tests.unit.bench_support import benchmark


def test_folders_in_the_place_of_a_benchmark_are_spread_over_block_groups(tmp_path: Path) -> None:
    """As e2fsprogs' own commands see the flag."""
    by_chattr = tmp_path / "by chattr"
    by_chattr.mkdir()
    try:
        subprocess.run(["chattr", "+T", by_chattr], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there is no chattr, or the file system has no such flag")
    before = _flags(tmp_path)

    spread(tmp_path)

    assert "T" not in before
    assert "T" in _flags(tmp_path)
    assert _flags(tmp_path) == _flags(by_chattr)


@pytest.mark.skipif(not Path("/proc").exists(), reason="there is no file system without such flags to try")
def test_a_file_system_without_block_groups_is_left_as_it_is() -> None:
    spread(Path("/proc"))


def test_a_benchmark_is_given_a_place_that_is_spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spread_ones: list[Path] = []

    def run(setting: Setting) -> Found:
        assert spread_ones == [setting.place]
        return benchmark().run(setting)

    monkeypatch.setattr(command, "_KEPT", tmp_path / "kept")
    monkeypatch.setattr(command, "_ROOT", tmp_path)
    monkeypatch.setattr(command, "spread", spread_ones.append)
    monkeypatch.setitem(BENCHMARKS, "one", Benchmark("one", "One thing", (), run))

    assert command.main(["one", "--quick"]) == 0
    assert len(spread_ones) == 1


def _flags(folder: Path) -> str:
    return subprocess.run(["lsattr", "-d", folder], capture_output=True, text=True, check=True).stdout.split()[0]
