"""Launches runs as separate processes, a bounded number at a time, by the command a user would type."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from pipelines.main_job.plan import Posting

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Finished:
    """A run's process that has ended, and where its output is."""

    posting: Posting
    exit_code: int
    log: Path


@dataclass(frozen=True, slots=True)
class Fleet:
    """How runs are launched: `workers` processes at a time, each with `environment`, logs and markers under `home`."""

    home: Path
    environment: Mapping[str, str]
    workers: int

    def run(self, postings: Sequence[Posting], ended: Callable[[Finished], None]) -> Iterator[Finished]:
        """Launch all, in order; yield each as it ends, after `ended` was told of it."""
        (self.home / "logs").mkdir(parents=True, exist_ok=True)
        party = sum(posting.is_of_opening_party for posting in postings)
        with ThreadPoolExecutor(self.workers) as pool:
            launched = [pool.submit(self._run_one, number, posting, party) for number, posting in enumerate(postings)]
            try:
                for future in as_completed(launched):
                    ended(future.result())
                    yield future.result()
            finally:
                pool.shutdown(cancel_futures=True)

    def _run_one(self, number: int, posting: Posting, party: int) -> Finished:
        log = self.home / "logs" / f"{number:04}-{posting.kind}.log"
        with log.open("wb") as output:
            process = subprocess.run(
                self._command(posting, party),
                cwd=_ROOT,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        return Finished(posting, process.returncode, log)

    def _command(self, posting: Posting, party: int) -> list[str]:
        command = [sys.executable, "-m", "dagster", "asset", "materialize", "-m", "pipelines.definitions"]
        command += ["--select", f'key:"bank/{posting.kind}"']
        command += ["--partition-range", f"{posting.first_day}...{posting.last_day}"]
        if posting.is_of_opening_party:
            meeting = {"rendezvous_dir": str(self.home / "opening-party"), "rendezvous_parties": party}
            command += ["--config-json", json.dumps({"ops": {f"bank__{posting.kind}": {"config": meeting}}})]
        return command
