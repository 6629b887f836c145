"""Tries one mutant in a copy of the checkout."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from tests.contract.turns import EVERY_CASE
from tests.mutation.reach import Chosen
from tests.mutation.sites import Mutant

_STARTING_S: Final = 60.0  # Of pytest, on a busy machine.
_SLOWER: Final = 6


class Outcome(Enum):
    """What became of a mutant."""

    SURVIVED = "survived"
    UNREACHED = "no test reaches it"
    UNCLEAR = "unclear: its tests cannot be passed without it, too"
    KILLED = "killed"
    ENDLESS = "killed: the tests did not end"


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one mutant."""

    mutant: Mutant
    outcome: Outcome
    tests: int
    left_out: int
    killed_by: str | None = None  # the test that failed; None: none did, or no one alone

    @property
    def is_killed(self) -> bool:
        """Whether the tests noticed."""
        return self.outcome in (Outcome.KILLED, Outcome.ENDLESS)


@dataclass(frozen=True, slots=True)
class _Ended:
    """How pytest ended."""

    code: int | None  # None: it did not, and was killed
    failed: str | None  # the first test that failed; None: none did, or it did not come to that

    @property
    def is_collected(self) -> bool:
        """Whether it came to run tests."""
        return self.code in (0, 1)


def tried(root: Path, mutant: Mutant, chosen: Chosen) -> Finding:
    """Put a mutant into a copy that nobody else uses, run its tests, and leave the copy as it was."""
    counts = len(chosen.tests), chosen.left_out
    if not chosen.tests:
        return Finding(mutant, Outcome.UNREACHED, *counts)
    path = root / mutant.file
    before = path.read_text(encoding="utf-8")
    path.write_text(mutant.text, encoding="utf-8")
    try:
        ended = _run(root, chosen.tests, s_max=_STARTING_S + _SLOWER * chosen.seconds)
    finally:
        path.write_text(before, encoding="utf-8")
    if ended.code is None:
        return Finding(mutant, Outcome.ENDLESS, *counts)
    if ended.code == 0:
        return Finding(mutant, Outcome.SURVIVED, *counts)
    suspects = [ended.failed] if ended.failed is not None else chosen.tests
    options = () if ended.is_collected else ("--collect-only",)
    if _run(root, suspects, *options, s_max=_STARTING_S + _SLOWER * chosen.seconds).code != 0:
        return Finding(mutant, Outcome.UNCLEAR, *counts, killed_by=ended.failed)
    return Finding(mutant, Outcome.KILLED, *counts, killed_by=ended.failed or "the tests cannot be imported")


def _run(root: Path, tests: Sequence[str], *options: str, s_max: float) -> _Ended:
    """Run tests to the first that fails; they import what lies under `root`, and write no byte code there."""
    chosen = root / "mutation-tests.txt"
    chosen.write_text("\n".join(tests), encoding="utf-8")
    shown = ["-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", *options]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *shown, f"@{chosen}"],
        cwd=root,
        env={**os.environ, EVERY_CASE: "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # So that what the tests have started ends with them.
    )
    try:
        output, _ = process.communicate(timeout=s_max)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return _Ended(None, None)
    told = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
    return _Ended(process.returncode, told[1] if told and process.returncode == 1 else None)
