"""Sabotages a copy of the checkout, line by line, and runs the tests that are to notice; all must be caught.

    python3 run.py mutants            every sabotage
    python3 run.py mutants ledger     those whose name has that word

Exits with 1 if one was not caught, with 2 if the tests fail without any, or a line to sabotage is no longer there.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.mutants.sabotages import SABOTAGES, Sabotage

ROOT = Path(__file__).parents[2]
COPIED = ("assets", "oracle", "pipelines", "seriatim", "tests", "pyproject.toml", "run.py", "solution.py")
NOT_COPIED = shutil.ignore_patterns("__pycache__")
AT_ONCE = 2
S_MAX = 900  # for one sabotage: one that makes a test hang is caught, too


def main(words: Sequence[str]) -> int:
    """Try the sabotages whose names have one of the words (none: all), and say which were caught."""
    chosen = [each for each in SABOTAGES if not words or any(word in each.name for word in words)]
    with tempfile.TemporaryDirectory(prefix="seriatim-mutants-") as folder:
        roots = [_copied(Path(folder) / str(number)) for number in range(AT_ONCE)]
        tests = sorted({test for sabotage in chosen for test in sabotage.tests})
        if not tests or not _passes(roots[0], tests):
            print("The tests fail without any sabotage, or none was chosen.", file=sys.stderr)
            return 2
        with ThreadPoolExecutor(AT_ONCE) as pool:
            caught = [one for part in pool.map(_all_caught, roots, _dealt(chosen)) for one in part]
    found = dict(caught)
    table = Table("sabotage", "file", "caught")
    for sabotage in chosen:
        files = ", ".join(edit.file for edit in sabotage.edits)
        table.add_row(sabotage.name, files, "yes" if found[sabotage.name] else "NO")
    Console().print(table)
    print(f"{sum(found.values())} of {len(found)} sabotages were caught")
    return int(not all(found.values()))


def _dealt(chosen: Sequence[Sabotage]) -> Iterable[Sequence[Sabotage]]:
    return [chosen[number::AT_ONCE] for number in range(AT_ONCE)]


def _copied(root: Path) -> Path:
    root.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=NOT_COPIED)
        else:
            shutil.copy(source, root / name)
    return root


def _all_caught(root: Path, sabotages: Sequence[Sabotage]) -> list[tuple[str, bool]]:
    return [(sabotage.name, _is_caught(root, sabotage)) for sabotage in sabotages]


def _is_caught(root: Path, sabotage: Sabotage) -> bool:
    before = sabotage.put_into(root)
    try:
        is_caught = not _passes(root, sabotage.tests)
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")
    print(f"{'caught' if is_caught else 'NOT CAUGHT'}: {sabotage.name}", file=sys.stderr)
    return is_caught


def _passes(root: Path, tests: Sequence[str]) -> bool:
    """Run the tests to the first failure; they import what lies under `root`, since pytest puts it first."""
    options = ["-x", "-q", "-p", "no:cacheprovider"]
    try:
        ended = subprocess.run(
            [sys.executable, "-B", "-m", "pytest", *options, *tests], cwd=root, capture_output=True, timeout=S_MAX
        )
    except subprocess.TimeoutExpired:
        return False
    if ended.returncode not in (0, 1):  # Not a test that failed, but no test at all.
        raise RuntimeError(f"pytest ended with {ended.returncode}: {ended.stdout.decode()} {ended.stderr.decode()}")
    return ended.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
