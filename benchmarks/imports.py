"""B6: what it takes to start Python and import the library, beside what it is built on."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import Final

from benchmarks.benchmark import Benchmark, Found, Setting
from benchmarks.figures import Key, Series
from benchmarks.rounds import Task, children_cpu_s, interleaved
from benchmarks.target import Side, Target

_ROUNDS: Final = 15
_STATEMENTS: Final = (
    "pass",
    "import seriatim",
    "from seriatim import apply, commit_with_retry",
    "import pyiceberg.catalog.sql",
    "import seriatim.dagster",
    "import dagster",
)
_PEER: Final = Key("import pyiceberg.catalog.sql", "ms")
_HEAVY: Final = ("deltalake", "duckdb", "numpy", "pyarrow", "pyiceberg", "sqlalchemy", "dagster")
_LOADED: Final = Key("import seriatim", "heavy packages that it loads")

TARGETS: Final = (
    Target("B6", Key("import seriatim", "ms"), Side.AT_MOST, 1.1, (_PEER,)),
    Target("B6", Key("from seriatim import apply, commit_with_retry", "ms"), Side.AT_MOST, 1.1, (_PEER,)),
    Target("B6", _LOADED, Side.AT_MOST, 0),
)


def run(setting: Setting) -> Found:
    """Start a process for each statement in each round."""
    tasks = [Task(Key(statement, "ms"), partial(_start, statement)) for statement in _STATEMENTS]
    rounds, chance = setting.rounds(_ROUNDS), setting.chance()
    series = interleaved(tasks, rounds=rounds, warmup=1, chance=chance, cpu_s=children_cpu_s)
    listed = _start("import seriatim, sys, json; print(json.dumps(sorted(sys.modules)))")
    loaded = [name for name in json.loads(listed) if name in _HEAVY]
    return Found((*series, Series(_LOADED, (len(loaded),))), ("Each is a process of its own, start and end included.",))


def _start(statement: str) -> str:
    command = [sys.executable, "-c", statement]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


BENCHMARK: Final = Benchmark("imports", "Importing", TARGETS, run)
