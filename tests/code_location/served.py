"""The bank of a scene in a UI: servers and daemons are processes, begun by the commands of the documents."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import dagster as dg
from dagster._core.test_utils import poll_for_finished_run
from dagster_graphql import DagsterGraphQLClient

from pipelines.instance import prepare_instance
from pipelines.screenshots.webserver import free_port, serving
from tests.code_location.scene import TIMEOUT_S, Scene

_HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Served:
    """A bank, the instance under `home`, and the port of its webserver."""

    scene: Scene
    home: Path
    port: int

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        return f"http://{_HOST}:{self.port}"

    def launch(self, kind: str) -> str:
        """Launch the job of a kind as the UI does, by GraphQL; return the run's id."""
        client = DagsterGraphQLClient(_HOST, port_number=self.port)
        return str(client.submit_job_execution(f"post_{kind}", repository_location_name="bank", run_config={}))

    def run_ids(self, *jobs: str) -> set[str]:
        """Return the runs that there are of these jobs."""
        with dg.DagsterInstance.from_config(str(self.home)) as instance:
            return {run.run_id for run in instance.get_runs() if run.job_name in jobs}

    def ended(self, run_ids: Iterable[str]) -> list[dg.DagsterRunStatus]:
        """Return how runs ended, when all have."""
        with dg.DagsterInstance.from_config(str(self.home)) as instance:
            return [poll_for_finished_run(instance, run_id, timeout=TIMEOUT_S).status for run_id in run_ids]


@contextmanager
def served(scene: Scene, *commands: str) -> Iterator[tuple[Served, list[subprocess.Popen[str]]]]:
    """Run commands, the first of them a webserver's, on an instance of the scene until the `with` block ends."""
    home = scene.folder / "home"
    prepare_instance(home)
    bank = Served(scene, home, free_port())
    webserver, *daemons = commands
    processes = [
        scene.typed(command, home=home, log=scene.folder / f"process-{number}.log")
        for number, command in enumerate([f"{webserver} -p {bank.port}", *daemons])
    ]
    try:
        serving(bank.port)
        yield bank, processes
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(TIMEOUT_S)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # What it has begun and not ended.


def meeting(kind: str, folder: Path, parties: int) -> str:
    """Return the configuration by which a run of a kind's job meets others, as one types it into the launchpad."""
    config = {"rendezvous_dir": str(folder), "rendezvous_parties": parties}
    return json.dumps({"ops": {f"bank__{kind}": {"config": config}}})  # JSON is YAML.
