"""Launches runs as separate processes, a bounded number at a time, by the command a user would type."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pipelines.main_job.plan import Run

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Finished:
    """A run's process that has ended, and where its output is."""

    run: Run
    exit_code: int
    log: Path


@dataclass(frozen=True, slots=True)
class Fleet:
    """How runs are launched: `workers` processes at a time, each with `environment`, logs and markers under `home`."""

    home: Path
    environment: Mapping[str, str]
    workers: int

    def run(self, runs: Sequence[Run], ended: Callable[[Finished], None], *, guests: int = 0) -> Iterator[Finished]:
        """Launch all, in order; yield each as it ends, after `ended` was told of it.

        Parties wait for `guests` more, who are no runs and come to `meeting_of` the party.
        """
        (self.home / "logs").mkdir(parents=True, exist_ok=True)
        parties = Counter(run.party for run in runs)
        processes = _Processes()
        with ThreadPoolExecutor(self.workers) as pool:
            launched = [pool.submit(self._run_one, processes, run, parties[run.party] + guests) for run in runs]
            try:
                for future in as_completed(launched):
                    ended(future.result())
                    yield future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                processes.stop()  # None is left, unless something has ended the loop before its time.

    def meeting_of(self, party: str) -> Path:
        """Return the folder where a party meets."""
        return self.home / f"{party}-party"

    def _run_one(self, processes: _Processes, run: Run, party: int) -> Finished:
        log = self.home / "logs" / f"{run.label.replace(' ', '-').replace(',', '')}.log"
        with log.open("wb") as output:
            exit_code = processes.run(
                command_of(run, self.meeting_of(run.party) if run.party else None, party),
                environment={**os.environ, **self.environment},
                output=output,
            )
        return Finished(run, exit_code, log)


def command_of(
    run: Run, meeting: Path | None = None, party: int = 1, module: str = "pipelines.definitions"
) -> list[str]:
    """Return the command that launches a run, which meets others if there is a place for it."""
    config: dict[str, object] = {**run.config}
    if meeting is not None:
        config |= {"rendezvous_dir": str(meeting), "rendezvous_parties": party}
    return [
        *(sys.executable, "-m", "dagster", "asset", "materialize", "-m", module),
        *("--select", " or ".join(f'key:"{asset}"' for asset in run.assets)),
        *("--config-json", json.dumps({"ops": {run.assets[0].replace("/", "__"): {"config": config}}})),
    ]


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
