"""What the mirror costs: backlogs of versions, and versions of many files. Run: `python3 run.py bench mirror`."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.delta_logs import write_log


@dataclass(frozen=True, slots=True)
class Case:
    """A Delta table to mirror from its beginning."""

    name: str
    versions: int
    files_per_version: int = 1
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """What it took, process start included."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    manifests: int


CASES = (
    Case("100 appends", 100),
    Case("1,000 appends", 1_000),
    Case("1,000 overwrites", 1_000, replaces=True),
    Case("1 version of 1,000 files", 1, 1_000),
    Case("1 version of 100,000 files", 1, 100_000),
)
LONG_CASES = (Case("10,000 appends", 10_000),)


def main(args: Sequence[str]) -> int:
    """Measure every case, print the figures; `--long` adds the backlog of 10,000 versions."""
    cases = (*CASES, *(LONG_CASES if "--long" in args else ()))
    print(f"{'':28} {'wall s':>8} {'CPU s':>8} {'ms/version':>11} {'peak MB':>8} {'manifests':>10}")
    for case in cases:
        found = measure(case)
        per_version_ms = 1000 * found.wall_s / case.versions
        line = (
            f"{found.wall_s:8.2f} {found.cpu_s:8.2f} {per_version_ms:11.2f} {found.peak_mb:8.0f} {found.manifests:10}"
        )
        print(f"{case.name:28} {line}", flush=True)
    return 0


def measure(case: Case) -> Figures:
    """Mirror the case's table in a process of its own."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        write_log(
            root / "delta", versions=case.versions, files_per_version=case.files_per_version, replaces=case.replaces
        )
        before, begun_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.mirror", str(root)], check=True, capture_output=True, text=True
        )
        wall_s, after = time.perf_counter() - begun_s, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Figures(wall_s, cpu_s, **json.loads(done.stdout))


def _mirror(root: Path) -> None:
    """Mirror once, and print what only this process knows."""
    from pyiceberg.catalog.sql import SqlCatalog

    from seriatim.mirror import mirror

    catalog = SqlCatalog("bench", uri=f"sqlite:///{root}/catalog.db", warehouse=f"file://{root}/warehouse")
    catalog.create_namespace("bench")
    mirror(str(root / "delta"), catalog, "bench.mirror")
    table = catalog.load_table("bench.mirror")
    head = table.current_snapshot()
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"peak_mb": peak_mb, "manifests": len(head.manifests(table.io)) if head else 0}))


if __name__ == "__main__":
    _mirror(Path(sys.argv[1]))
