"""A PostgreSQL server for one test, where the machine has one installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

_PLACES: Final = ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin")
_UNPRIVILEGED: Final = "postgres"  # The server refuses to run as root.


def missing() -> str | None:
    """Return why there can be no server; None: there can."""
    if _program("pg_ctl") is None:
        return "PostgreSQL's server is not installed"
    if os.geteuid() == 0 and not _is_user(_UNPRIVILEGED):
        return "PostgreSQL does not run as root, and there is no user postgres"
    return None


@contextmanager
def server() -> Iterator[str]:
    """Yield the address of an empty database, as SQLAlchemy takes it."""
    with TemporaryDirectory(prefix="seriatim-postgres-") as name:  # pytest's own folders are their owner's alone.
        if os.geteuid() == 0:
            shutil.chown(name, _UNPRIVILEGED)
        yield from _served(Path(name))


def _served(folder: Path) -> Iterator[str]:
    data, port = folder / "data", _free_port()
    _run("initdb", "-D", str(data), "-A", "trust", "-U", "seriatim", "--no-sync")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
    _run("pg_ctl", "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w", "start")
    try:
        yield f"postgresql+psycopg2://seriatim@127.0.0.1:{port}/postgres"
    finally:
        _run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")


def _run(name: str, *arguments: str) -> None:
    program = _program(name)
    assert program is not None
    as_user = _UNPRIVILEGED if os.geteuid() == 0 else None
    # No pipes: the server that pg_ctl leaves behind would hold them open.
    subprocess.run([program, *arguments], user=as_user, cwd="/", stdout=subprocess.DEVNULL, check=True)


def _program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(_folders()))


def _folders() -> Sequence[str]:
    return [str(found) for place in _PLACES for found in sorted(Path("/").glob(place[1:]), reverse=True)]


def _is_user(name: str) -> bool:
    import pwd

    return any(each.pw_name == name for each in pwd.getpwall())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
