"""B8: what the mirror costs: backlogs of versions, and versions of many files; a process each, start included."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.benchmark import Benchmark, Found, Setting, require
from benchmarks.delta_logs import write_log
from benchmarks.figures import Key, Series
from benchmarks.target import Side, Target


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


CASES: Final = (
    Case("100 appends", 100),
    Case("1,000 appends", 1_000),
    Case("1,000 overwrites", 1_000, replaces=True),
    Case("1 version of 1,000 files", 1, 1_000),
    Case("1 version of 100,000 files", 1, 100_000),
)
LONG_CASES: Final = (Case("10,000 appends", 10_000),)
_WALL, _PER_VERSION = "wall s", "ms per version"

TARGETS: Final = (
    Target("B8", Key("100 appends", _WALL), Side.AT_MOST, 3.0),
    Target("B8", Key("1,000 appends", _WALL), Side.AT_MOST, 15.0),
    Target("B8", Key("1,000 overwrites", _WALL), Side.AT_MOST, 15.0),
    Target("B8", Key("1,000 appends", _PER_VERSION), Side.AT_MOST, 2.0, (Key("100 appends", _PER_VERSION),)),
)


def run(setting: Setting) -> Found:
    """Measure every case once; a long run adds the backlog of 10,000 versions, a quick one has the first case alone."""
    cases = (*CASES, *(LONG_CASES if setting.is_long else ()))
    series: list[Series] = []
    for case in cases[:1] if setting.is_quick else cases:
        found = measure(case, setting.place)
        setting.say(f"    {case.name}: {found.wall_s:.2f} s")
        series += _series(case, found)
    return Found(tuple(series), ("One run of each. The mirror opens no data file, so that there are none.",))


def _series(case: Case, found: Figures) -> Iterator[Series]:
    yield Series(Key(case.name, _WALL), (found.wall_s,), (found.cpu_s,))
    yield Series(Key(case.name, _PER_VERSION), (1000 * found.wall_s / case.versions,))
    yield Series(Key(case.name, "peak MB"), (found.peak_mb,))
    yield Series(Key(case.name, "manifests afterwards"), (found.manifests,))


def measure(case: Case, place: Path) -> Figures:
    """Mirror the case's table in a process of its own."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        root = Path(folder)
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
    receipt = mirror(str(root / "delta"), catalog, "bench.mirror")
    require("the mirror's version", -1 if receipt.version is None else receipt.version, receipt.delta_version)
    table = catalog.load_table("bench.mirror")
    head = table.current_snapshot()
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"peak_mb": peak_mb, "manifests": len(head.manifests(table.io)) if head else 0}))


BENCHMARK: Final = Benchmark("mirror", "The mirror of a Delta table", TARGETS, run)


if __name__ == "__main__":
    _mirror(Path(sys.argv[1]))
