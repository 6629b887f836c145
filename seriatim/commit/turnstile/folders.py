"""Where lines of processes are kept: a folder of the user's own among the machine's temporary ones."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Final

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def folder_of(line: str, root: Path | None = None) -> Path:
    """Return the folder of a line, made if need be; processes of one user meet in it.

    Raises:
        OSError: it cannot be made, or somebody else could change it, or it leads elsewhere.
    """
    if sys.platform == "win32":
        raise OSError("Windows does not say whose a folder is")
    if root is None:
        root = Path(tempfile.gettempdir()) / f"seriatim-{os.geteuid()}"
    for folder in (root, root / line):
        folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
        _require_own(folder)
    return root / line


def _require_own(folder: Path) -> None:
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode):
        raise NotADirectoryError(f"{folder} is no folder; remove it, or set TMPDIR to another one")
    if state.st_uid != os.geteuid() or state.st_mode & _OTHERS:
        mode = oct(stat.S_IMODE(state.st_mode))
        raise PermissionError(
            f"{folder} belongs to user {state.st_uid} with mode {mode}, not to user {os.geteuid()} alone; "
            "remove it, or set TMPDIR to another one"
        )
