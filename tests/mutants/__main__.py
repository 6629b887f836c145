"""Sabotages a copy of the checkout, line by line, and runs the tests that are to notice; all must be caught.

    python3 run.py mutants            every sabotage
    python3 run.py mutants ledger     those whose name has that word

A sabotage is caught when a test fails with it that passes without it. Exits with 1 if one was not.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tests.contract.turns import EVERY_CASE
from tests.mutants.checkout import copied
from tests.mutants.sabotages import SABOTAGES, Sabotage

AT_ONCE = 2
S_MAX = 900  # for the tests of one sabotage


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one sabotage."""

    sabotage: Sabotage
    caught_by: str | None  # the test that failed; None: none did


def main(words: Sequence[str]) -> int:
    """Try the sabotages whose names have one of the words (none: all), and say which test caught each."""
    chosen = [each for each in SABOTAGES if not words or any(word in each.name for word in words)]
    with tempfile.TemporaryDirectory(prefix="seriatim-mutants-") as folder:
        roots: SimpleQueue[Path] = SimpleQueue()
        for number in range(AT_ONCE):
            roots.put(copied(Path(folder) / str(number)))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            findings = list(pool.map(lambda sabotage: _tried(roots, sabotage), chosen))
    table = Table("sabotage", "file", "caught by")
    for finding in findings:
        files = ", ".join(edit.file for edit in finding.sabotage.edits)
        table.add_row(finding.sabotage.name, files, Text(finding.caught_by or "NOT CAUGHT"))
    Console().print(table)
    count = sum(finding.caught_by is not None for finding in findings)
    print(f"{count} of {len(findings)} sabotages were caught")
    return int(count < len(findings) or not findings)


def _tried(roots: SimpleQueue[Path], sabotage: Sabotage) -> Finding:
    """Try a sabotage in a copy that nobody else uses, and leave the copy as it was."""
    root = roots.get()
    before = sabotage.put_into(root)
    try:
        failed = _first_failure(root, sabotage.tests)
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")
    if failed is not None and _first_failure(root, [failed]) is not None:
        raise RuntimeError(f"{failed} fails without the sabotage {sabotage.name!r}, too")
    roots.put(root)
    print(f"{sabotage.name}: {failed or 'NOT CAUGHT'}", file=sys.stderr, flush=True)
    return Finding(sabotage, failed)


def _first_failure(root: Path, tests: Sequence[str]) -> str | None:
    """Run tests to the first that fails, and return it; they import what lies under `root`, as pytest puts it first."""
    options = ["-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider"]
    command = [sys.executable, "-B", "-m", "pytest", *options, *tests]
    every = {**os.environ, EVERY_CASE: "1"}
    ended = subprocess.run(command, cwd=root, env=every, capture_output=True, check=False, timeout=S_MAX, text=True)
    if ended.returncode == 0:
        return None
    told = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", ended.stdout, re.MULTILINE)
    if ended.returncode != 1 or told is None:  # Not a test that failed, but no test at all.
        raise RuntimeError(f"pytest ended with {ended.returncode}: {ended.stdout} {ended.stderr}")
    return told[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
