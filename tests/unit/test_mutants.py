"""The sabotages of `run.py mutants` still are what they say: a line that is no longer there would sabotage nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.sabotages import SABOTAGES, Edit, Sabotage

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("sabotage", SABOTAGES, ids=lambda sabotage: sabotage.name)
def test_each_sabotage_still_finds_its_line(sabotage: Sabotage) -> None:
    """Once, in code that still parses afterwards; and the tests that are to notice are there."""
    for edit in sabotage.edits:
        text = (ROOT / edit.file).read_text(encoding="utf-8")
        sabotaged = edit.applied_to(text)
        compile(sabotaged, edit.file, "exec")
        assert sabotaged != text
    assert all((ROOT / test).is_file() for test in sabotage.tests)


@pytest.mark.parametrize("text", ["x = 1\n", "y = 1\ny = 1\n"])
def test_a_line_that_is_not_there_once_is_an_error(text: str) -> None:
    """Or the sabotage would pass for one that was not caught, or be another one."""
    with pytest.raises(ValueError, match="lines, not one"):
        Edit("x.py", "y = 1", "y = 2").applied_to(text)


def test_the_names_tell_the_sabotages_apart() -> None:
    """The report has one row for each."""
    assert len({sabotage.name for sabotage in SABOTAGES}) == len(SABOTAGES) >= 20
