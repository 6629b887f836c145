"""B7: one Dagster materialization through the core, beside one of an asset that does nothing, and what is whose."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.benchmark import Benchmark, Found, Setting, require
from benchmarks.figures import Key, Series
from benchmarks.rounds import Task, children_cpu_s, interleaved
from benchmarks.systems.iceberg import TABLE, create_table, open_catalog, total
from benchmarks.target import Side, Target

_ASSETS: Final = ("nothing", "change", "told")
_COMMANDS, _CALLS = 5, 25
_WARMUP: Final = 2
_SILENT: Final = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
_COMMAND: Final = "ms of the command"
_CALL: Final = "ms in a warm process"

TARGETS: Final = (Target("B7", Key("told", _COMMAND), Side.AT_MOST, 1.15, (Key("nothing", _COMMAND),)),)


def run(setting: Setting) -> Found:
    """Materialize each asset by the command that a user types, and in this process."""
    folder = setting.folder("location")
    create_table(folder)
    with _environment(folder):
        commands = [Task(Key(asset, _COMMAND), partial(_command, asset)) for asset in _ASSETS]
        rounds, chance = setting.rounds(_COMMANDS), setting.chance()
        series = interleaved(commands, rounds=rounds, warmup=1, chance=chance, cpu_s=children_cpu_s)
        called = _called(setting)
    committed = 2 * sum(len(each.values) for each in (series[0], called[0])) + 2 * (1 + _WARMUP)
    catalog = open_catalog(folder)
    require("materialized", total(catalog.load_table(TABLE)), committed)
    catalog.engine.dispose()
    return Found((*series, *called, *_parts(called)), _NOTES)


_NOTES: Final = (
    (
        "The command is dagster asset materialize, a process each, by in_process_executor; in the warm process "
        "everything is loaded, and the instance is in memory."
    ),
    (
        "`nothing` opens the catalog and imports what the others import; `change` calls `apply`; `told` calls "
        "`IcebergCatalog.apply`, which also names the operation after the launch, and tells snapshot, rows and "
        "lineage."
    ),
)


def _command(asset: str) -> None:
    command = [sys.executable, "-m", "dagster", "asset", "materialize", "-m", "benchmarks.code_location"]
    subprocess.run([*command, "--select", asset], check=True, capture_output=True)


def _called(setting: Setting) -> tuple[Series, ...]:
    import dagster as dg

    from benchmarks.code_location import defs

    with dg.DagsterInstance.ephemeral() as instance:

        def materialize(asset: str) -> None:
            job = defs.resolve_implicit_global_asset_job_def()
            ended = job.execute_in_process(_SILENT, instance=instance, asset_selection=[dg.AssetKey(asset)])
            assert ended.success

        tasks = [Task(Key(asset, _CALL), partial(materialize, asset)) for asset in _ASSETS]
        return interleaved(tasks, rounds=setting.rounds(_CALLS), warmup=_WARMUP, chance=setting.chance())


def _parts(called: Sequence[Series]) -> Iterator[Series]:
    """Return what the core's part is, and that of what is told, as differences round by round."""
    for name, more, less in (("of it the commit", 1, 0), ("of it what is told", 2, 1)):
        pairs = zip(called[more].values, called[less].values, strict=True)
        yield Series(Key(name, _CALL), tuple(after - before for after, before in pairs))


@contextmanager
def _environment(folder: Path) -> Iterator[None]:
    """Say where the catalog is, and let Dagster keep its things in the folder."""
    (folder / "dagster").mkdir()
    (folder / "dagster" / "dagster.yaml").touch()
    ours = {
        "BENCH_URI": f"sqlite:///{folder}/catalog.db?timeout=60",
        "BENCH_WAREHOUSE": f"file://{folder}/warehouse",
        "DAGSTER_HOME": str(folder / "dagster"),
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }
    before = dict(os.environ)
    os.environ.update(ours)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


BENCHMARK: Final = Benchmark("materialization", "One Dagster materialization", TARGETS, run)
