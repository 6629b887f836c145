"""What the code location defines, down to the last name, is what `definitions.txt` says.

A name that changes is somebody's run configuration, alert, link or operation id. `SERIATIM_PIN=1` writes the file anew.
"""

from __future__ import annotations

import os
from difflib import unified_diff
from pathlib import Path

import pytest

from pipelines.definitions import defs
from tests.code_location.pinned import as_text

PINNED = Path(__file__).with_name("definitions.txt")
ANEW = "SERIATIM_PIN"


def test_the_definitions_are_as_they_are_pinned() -> None:
    found = as_text(defs)
    if os.environ.get(ANEW):
        PINNED.write_text(found, encoding="utf-8")
        pytest.skip(f"{PINNED.name} was written anew: look at its difference before you commit it")

    pinned = PINNED.read_text(encoding="utf-8")

    difference = unified_diff(pinned.splitlines(), found.splitlines(), "pinned", "found", n=8, lineterm="")
    if said := "\n".join(difference):
        pytest.fail(f"If this is meant, run this test with {ANEW}=1 and commit {PINNED.name}.\n{said}", pytrace=False)
