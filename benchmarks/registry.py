"""Every benchmark, in the order in which they run."""

from __future__ import annotations

from typing import Final

from benchmarks import contention, disjoint, history, imports, main_job, materialization, mirror, one_commit

BENCHMARKS: Final = {
    module.BENCHMARK.name: module.BENCHMARK
    for module in (one_commit, history, contention, disjoint, imports, materialization, mirror, main_job)
}


def by_default() -> list[str]:
    """Return those that run when none is named."""
    return [name for name, each in BENCHMARKS.items() if each.is_default]
