"""Launches runs as separate processes, a bounded number at a time, by the command a user would type."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import IO

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
        processes = _Processes()
        with ThreadPoolExecutor(self.workers) as pool:
            launched = [
                pool.submit(self._run_one, processes, number, posting, party) for number, posting in enumerate(postings)
            ]
            try:
                for future in as_completed(launched):
                    ended(future.result())
                    yield future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                processes.stop()  # None is left, unless something has ended the loop before its time.

    def _run_one(self, processes: _Processes, number: int, posting: Posting, party: int) -> Finished:
        log = self.home / "logs" / f"{number:04}-{posting.kind}.log"
        with log.open("wb") as output:
            exit_code = processes.run(
                self._command(posting, party), environment={**os.environ, **self.environment}, output=output
            )
        return Finished(posting, exit_code, log)

    def _command(self, posting: Posting, party: int) -> list[str]:
        command = [sys.executable, "-m", "dagster", "asset", "materialize", "-m", "pipelines.definitions"]
        command += ["--select", f'key:"bank/{posting.kind}"']
        command += ["--partition-range", f"{posting.first_day}...{posting.last_day}"]
        if posting.is_of_opening_party:
            meeting = {"rendezvous_dir": str(self.home / "opening-party"), "rendezvous_parties": party}
            command += ["--config-json", json.dumps({"ops": {f"bank__{posting.kind}": {"config": meeting}}})]
        return command


class _Processes:
    """The processes that run, so that they can be told to end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_stopped = False

    def run(self, command: Sequence[str], *, environment: Mapping[str, str], output: IO[bytes]) -> int:
        """Run a process to its end, and return its exit code."""
        with self._lock:
            if self._is_stopped:
                raise CancelledError
            process = subprocess.Popen(
                command,
                cwd=_ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            self._running.add(process)
        try:
            return process.wait()
        finally:
            with self._lock:
                self._running.discard(process)

    def stop(self) -> None:
        """Tell every process to end, and start no more."""
        with self._lock:
            self._is_stopped = True
            for process in self._running:
                process.terminate()
