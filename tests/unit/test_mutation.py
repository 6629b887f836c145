"""The parts of `run.py mutation` that decide what is mutated, and which tests a mutant gets."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.mutation.reach import Chosen, Reach, statement_lines
from tests.mutation.sites import is_other_code, sampled

SOURCE = """
@decorated
def f(x: int) -> int:
    if (
        x > 1
    ):
        return g(
            x,
            2,
        )
    return 0
"""


@pytest.mark.parametrize(
    ("text", "mutated", "is_other"),
    [
        ("x = 1", "x = 2", True),
        ("def f(x: int | None) -> int | None: ...", "def f(x: int + None) -> int - None: ...", False),
        ("x: int | None = 1", "x: int + None = 1", False),
        ("x: int = 1", "x: int = 2", True),
        ("def f(*, x): ...", "def f(+, x): ...", False),
    ],
)
def test_what_changes_nothing_or_does_not_parse_is_no_mutant(text: str, mutated: str, is_other: bool) -> None:
    """An annotation is never evaluated, so that no test could tell; and every test could tell a syntax error."""
    assert is_other_code(text, mutated) is is_other


@pytest.mark.parametrize(
    ("line", "lines"),
    [(2, range(2, 4)), (3, range(2, 4)), (5, range(4, 7)), (8, range(7, 11)), (10, range(7, 11)), (11, range(11, 12))],
)
def test_the_statement_of_a_line_is_the_innermost_one(line: int, lines: range) -> None:
    """Of an `if` or a function only what comes before the body: who reaches the body has reached the condition."""
    assert statement_lines(SOURCE, line) == lines


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "code.py"
    path.write_text("LIMIT = 1\nx = f(\n    LIMIT,\n)\n")
    return path


def _reach() -> Reach:
    tests_of = {1: frozenset[str](), 2: frozenset({"a::1", "a::2", "b::1", "b::failed"}), 3: frozenset({"c::1"})}
    return Reach({"code.py": tests_of}, {"a::1": 3.0, "a::2": 1.0, "b::1": 9.0, "c::1": 2.0})


def test_quick_tests_of_every_file_come_first(source: Path) -> None:
    """Those of the whole statement that passed: `b::failed` would kill every mutant."""
    assert _reach().chosen("code.py", 3, source, 60) == Chosen(("a::2", "c::1", "b::1", "a::1"), 15, 0)


def test_what_is_beyond_the_budget_is_counted(source: Path) -> None:
    """A survivor may owe its life to them."""
    assert _reach().chosen("code.py", 2, source, 11.5) == Chosen(("a::2", "c::1"), 3, 2)


def test_a_line_that_imports_alone_run_gets_the_tests_of_its_file(source: Path) -> None:
    assert set(_reach().chosen("code.py", 1, source, 60).tests) == {"a::1", "a::2", "b::1", "c::1"}


@pytest.mark.parametrize(("file", "line"), [("other.py", 1), ("code.py", 5)])
def test_what_is_never_run_gets_none(source: Path, file: str, line: int) -> None:
    """It is told as not reached, and not as a survivor of tests that could not kill it."""
    source.write_text(source.read_text() + "def g(): ...\n")

    assert _reach().chosen(file, line, source, 60) == Chosen((), 0, 0)


def test_a_seed_chooses_the_same_mutants_again(tmp_path: Path) -> None:
    """One for each place."""
    pytest.importorskip("cosmic_ray", reason="is in the environment of `run.py mutation` alone")
    package = tmp_path / "package"
    package.mkdir()
    (package / "code.py").write_text("def f(x: int | None) -> bool:\n    return x < 1 and x != 7\n")

    mutants = sampled(tmp_path, "package", 3, random.Random(1))

    assert mutants == sampled(tmp_path, "package", 3, random.Random(1))
    assert {mutant.line for mutant in mutants} == {2}
    assert len({mutant.after for mutant in mutants}) == 3
    assert mutants != sampled(tmp_path, "package", 3, random.Random(2))
