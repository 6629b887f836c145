"""Where the command begins: it needs the extra `cli`, and says so when that is not installed."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command with the arguments of the process, and exit."""
    try:
        from seriatim.cli.app import app
    except ModuleNotFoundError as err:
        if err.name not in ("typer", "rich"):
            raise
        sys.exit(f"seriatim: {err.name} is not installed, which the command needs: pip install 'seriatim[cli]'")
    app(prog_name="seriatim")
