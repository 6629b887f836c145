"""A small checkout in which run.py is run for real, with stand-ins for uv and pip, so that nothing needs a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import run

TIMEOUT_S = 120  # Far above what anything here takes; a hang then fails instead of blocking the suite.
_MAIN_JOB = """
import json, os, sys
names = ("SERIATIM_TRANSACTIONS", "PYTHONPATH", "DAGSTER_DISABLE_TELEMETRY")
print(json.dumps({"args": sys.argv[1:], "cwd": os.getcwd(), **{name: os.environ.get(name) for name in names}}))
sys.exit(7)
"""


@dataclass(frozen=True)
class Checkout:
    """A checkout with run.py, empty locks, and stand-ins for uv and pip that write down how they are called."""

    root: Path

    def install_tools(self, *, uv: str = "", pip: str = "") -> None:
        """Make the tools' environment as run.py would, with scripts for uv and for the Python that runs pip."""
        tools = self.root / ".venv-tools"
        for name, log, body in (("uv", "uv-calls.txt", uv), ("python", "pip-calls.txt", pip)):
            script = tools / "bin" / name
            script.parent.mkdir(parents=True, exist_ok=True)
            script.write_text(f"#!/bin/sh\necho \"$@\" >> '{self.root / log}'\n{body}", encoding="utf-8")
            script.chmod(0o755)
        place = [sys.executable, "-c", "import run; run.TOOLS.stamp.write_text(run.stamp_text(run.TOOLS))"]
        subprocess.run(place, cwd=self.root, check=True, timeout=TIMEOUT_S)

    def write_main_job(self, text: str) -> None:
        """Say what `demo` runs."""
        (self.root / "pipelines").mkdir(exist_ok=True)
        (self.root / "pipelines/main_job.py").write_text(text, encoding="utf-8")

    def start(self, *args: str, cwd: Path | None = None, **variables: str) -> subprocess.Popen[str]:
        """Start run.py with an environment that has a PATH and nothing else, like `env -i` does."""
        return subprocess.Popen(
            [sys.executable, str(self.root / "run.py"), *args],
            cwd=cwd or self.root,
            env={"PATH": os.environ["PATH"], **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *args: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        process = self.start(*args, cwd=cwd, **variables)
        out, err = process.communicate(timeout=TIMEOUT_S)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def uv_calls(self) -> list[str]:
        """How uv was called, one line a call."""
        return (self.root / "uv-calls.txt").read_text(encoding="utf-8").splitlines()


def small_checkout(folder: Path) -> Checkout:
    """Make one whose `demo` prints how it was run and exits with 7."""
    small = Checkout(folder / "checkout")
    (small.root / "requirements").mkdir(parents=True)
    shutil.copy(run.ROOT / "run.py", small.root)
    for environment in run.LOCKED:
        (small.root / environment.lock).write_text("# empty\n", encoding="utf-8")
    small.write_main_job(_MAIN_JOB)
    small.install_tools()
    return small
