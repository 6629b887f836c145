"""Where the command begins and ends: it needs the extra `cli`, and says so when that is not installed."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn


def main() -> None:
    """Run the command with the arguments of the process, and exit."""
    try:
        from seriatim.cli.app import app
    except ModuleNotFoundError as err:
        if err.name not in ("typer", "rich"):
            raise
        sys.exit(f"seriatim: {err.name} is not installed, which the command needs: pip install 'seriatim[cli]'")
    try:
        app(prog_name="seriatim")
    except SystemExit as end:
        if "pyarrow" in sys.modules:
            _end(end.code)
        raise


def _end(code: str | int | None) -> NoReturn:
    """End the process as it is: while the interpreter is taken down, Arrow's threads may abort it (arrow#34314).

    The exit code would then be none of ours.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # Whoever was reading has gone.
            stream.flush()
    os._exit(code if isinstance(code, int) else 0)
