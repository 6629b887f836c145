"""A webserver on the code location, for as long as a `with` block lasts."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import urllib3

_ROOT: Final = Path(__file__).resolve().parents[2]
_WORKSPACE: Final = ("-w", "workspace.yaml")
_HOST: Final = "127.0.0.1"
# It refuses connections until it has loaded the code location: up to 200 s, with pauses of a second at most.
_UNTIL_IT_SERVES: Final = urllib3.Retry(total=None, connect=200, read=0, backoff_factor=0.1, backoff_max=1.0)
_ENDS_S_MAX: Final = 30.0


@contextmanager
def webserver(
    environment: Mapping[str, str], log: Path, *, target: Sequence[str] = _WORKSPACE, folder: Path = _ROOT
) -> Iterator[str]:
    """Yield the address of a webserver on a code location, without any daemon; what it says goes to `log`.

    Raises:
        urllib3.exceptions.MaxRetryError: it did not begin to serve.
    """
    port = free_port()
    words = ("dagster_webserver", *target, "-p", str(port))
    with process(*words, environment=environment, log=log, folder=folder):
        yield serving(port)


@contextmanager
def process(
    module: str, *arguments: str, environment: Mapping[str, str], log: Path, folder: Path = _ROOT
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a module in a folder (the checkout), and end it when the `with` block ends."""
    with log.open("ab") as output:
        started = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield started
    finally:
        started.terminate()
        started.wait(_ENDS_S_MAX)


def serving(port: int) -> str:
    """Return the address of the webserver on `port` when it serves.

    Raises:
        urllib3.exceptions.MaxRetryError: it does not.
    """
    url = f"http://{_HOST}:{port}"
    urllib3.request("GET", f"{url}/server_info", retries=_UNTIL_IT_SERVES)
    return url


def free_port() -> int:
    """Return a port on which nobody listens now."""
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])
