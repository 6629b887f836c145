"""Copies of the checkout, in which code may be broken while the original stays as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = ("assets", "oracle", "pipelines", "seriatim", "tests", "pyproject.toml", "run.py", "solution.py")
NOT_COPIED = shutil.ignore_patterns("__pycache__")


def copied(root: Path) -> Path:
    """Copy what tests need to a folder that is not there yet, and return it."""
    root.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=NOT_COPIED)
        else:
            shutil.copy(source, root / name)
    return root
