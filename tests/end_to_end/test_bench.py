"""The benchmarks run, and end with right results; what they measure is nobody's business here."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.benchmark import Setting
from benchmarks.registry import BENCHMARKS
from benchmarks.target import judge

SEED = 1
CHEAP = ("one_commit", "history", "contention", "disjoint", "mirror")


@pytest.mark.slow
@pytest.mark.parametrize("name", CHEAP)
def test_a_quick_benchmark_ends_with_right_results(name: str, tmp_path: Path) -> None:
    """Each looks at the table that it leaves, and raises if that is not what was committed."""
    benchmark = BENCHMARKS[name]

    found = benchmark.run(Setting(tmp_path, SEED, is_quick=True))

    assert found.series
    assert all(each.values for each in found.series)
    if name != "history":  # A quick one has other points.
        assert any(each.measured for each in judge(benchmark.targets, found.series))
