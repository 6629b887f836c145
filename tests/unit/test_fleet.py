"""The fleet's processes do not outlive it."""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest

from pipelines.main_job.fleet import _Processes


def test_processes_end_when_they_are_stopped_and_none_is_started_after() -> None:
    """A run that lives on when the main job was ended would write into the folder of the next one."""
    processes = _Processes()
    command = [sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()"]
    source, sink = os.pipe()
    with ThreadPoolExecutor(1) as pool, os.fdopen(source, "rb") as said, os.fdopen(sink, "wb") as output:
        ending = pool.submit(processes.run, command, environment=os.environ, output=output)
        assert said.readline() == b"up\n"

        processes.stop()

        assert ending.result() == -signal.SIGTERM
        with pytest.raises(CancelledError):
            processes.run(command, environment=os.environ, output=output)
