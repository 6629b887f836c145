"""A pytest plugin that writes how long each test took that passed; under xdist the controller hears of all."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--durations-to", help="the file to write to")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--durations-to")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Durations(Path(path)))


class _Durations:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._seconds: Counter[str] = Counter()
        self._unfit: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration  # type: ignore[assignment]  # A Counter adds floats, too.
        if not report.passed:
            self._unfit.add(report.nodeid)

    def pytest_sessionfinish(self, session: Any) -> None:
        passed = {test: seconds for test, seconds in self._seconds.items() if test not in self._unfit}
        self._path.write_text(json.dumps(passed, sort_keys=True), encoding="utf-8")
