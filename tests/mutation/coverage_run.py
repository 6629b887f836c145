"""Runs the tests once, with coverage by test; the same code and tests are not run again."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from tests.contract.turns import EVERY_CASE
from tests.mutation.reach import Reach


def reach_of(root: Path, package: str, tests: Sequence[str]) -> Reach:
    """Return which of the tests reach which lines of the package.

    Raises:
        RuntimeError: the tests could not be run.
    """
    folder = root / ".seriatim" / "mutation" / _digest(root, tests)
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        print(f"Running {', '.join(tests)} once, with coverage by test", file=sys.stderr, flush=True)
        _run(root, package, tests, folder)
        (folder / "done").touch()
    return _read(root, folder)


def _digest(root: Path, tests: Sequence[str]) -> str:
    digest = hashlib.sha256("\n".join(tests).encode())
    for path in sorted([*root.glob("seriatim/**/*.py"), *root.glob("tests/**/*.py"), root / "pyproject.toml"]):
        if path.parent == Path(__file__).parent:
            continue  # What chooses among the tests changes none of them.
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _run(root: Path, package: str, tests: Sequence[str], folder: Path) -> None:
    settings = folder / "coveragerc"
    settings.write_text(f"[run]\ndata_file = {folder / 'coverage'}\nsource = {root / package}\n", encoding="utf-8")
    watched = [f"--cov={root / package}", "--cov-context=test", f"--cov-config={settings}", "--cov-report="]
    noted = ["-p", "tests.mutation.durations", f"--durations-to={folder / 'seconds.json'}"]
    options = ["-q", "--tb=short", "-p", "no:cacheprovider", "-n", "2", *noted, *watched]
    every = {**os.environ, EVERY_CASE: "1"}
    ended = subprocess.run([sys.executable, "-m", "pytest", *options, *tests], cwd=root, env=every, check=False)
    if ended.returncode not in (0, 1):  # 1: some failed, which are no use against mutants.
        raise RuntimeError(f"pytest ended with {ended.returncode}")


def _read(root: Path, folder: Path) -> Reach:
    from coverage import CoverageData

    data = CoverageData(str(folder / "coverage"))
    data.read()
    tests_of: dict[str, dict[int, frozenset[str]]] = defaultdict(dict)
    for measured in data.measured_files():
        file = Path(measured).relative_to(root).as_posix()
        for line, contexts in data.contexts_by_lineno(measured).items():
            tests_of[file][line] = frozenset(context.rpartition("|")[0] for context in contexts if "|" in context)
    seconds: dict[str, float] = json.loads((folder / "seconds.json").read_text(encoding="utf-8"))
    return Reach(tests_of, seconds)
