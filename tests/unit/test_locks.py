"""The locks can be used on any machine: pinned, with hashes, naming no address and no place."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest

import run
from seriatim.version import VERSION

if TYPE_CHECKING:
    from pathlib import Path

LOCKS = [environment.lock for environment in run.LOCKED]
GOOD = "hypothesis==6.1 ; python_version < '3.14' \\\n    --hash=sha256:0a1b\n    # via seriatim (pyproject.toml:dev)\n"


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_of_ours_is_current_and_names_no_address(lock: str) -> None:
    """Whoever changes a requirement runs `python3 run.py lock`, and no index or machine gets into it."""
    assert run.lock_problems(lock) == []


def test_every_file_of_requirements_is_a_lock_that_is_checked() -> None:
    """A lock that nobody names would be neither made again nor checked."""
    files = {f"requirements/{path.name}" for path in (run.ROOT / "requirements").iterdir()}

    assert files == set(LOCKS)


@pytest.mark.parametrize("version", ["0.10", "0.11"])
def test_an_older_pyiceberg_is_tested_without_dagster(version: str) -> None:
    """The library must work without Dagster, and these environments are where that shows."""
    lock = (run.ROOT / run.CONTRACT[version].lock).read_text(encoding="utf-8")

    assert re.search(rf"^pyiceberg=={re.escape(version)}\.", lock, re.MULTILINE)
    assert not re.search(r"^dagster", lock, re.MULTILINE)


def test_a_good_lock_has_no_problem(checkout: Path) -> None:
    """Markers, hashes on lines of their own and comments are what uv writes."""
    write_lock(checkout, run.lock_header() + GOOD)

    assert run.lock_problems("requirements/lock.txt") == []


@pytest.mark.parametrize(
    "planted",
    [
        "--index-url https://example.org/simple\n",
        "# from https://example.org/simple\n",
        "six @ file:///wheels/six.whl --hash=sha256:00\n",
        "    # via -r /home/someone/in.txt\n",
        "    # via -c ~/constraints.txt\n",
        "    # via -r C:\\Users\\someone\\in.txt\n",
        "six==1.17.0\n",
        "six>=1.17.0 --hash=sha256:00\n",
        "-e .\n",
    ],
)
def test_a_planted_fault_is_found(checkout: Path, planted: str) -> None:
    """Each of these would bind the lock to one machine, or let another file in."""
    write_lock(checkout, run.lock_header() + GOOD + planted)

    assert run.lock_problems("requirements/lock.txt") != []


def test_a_lock_older_than_its_requirements_is_found(checkout: Path) -> None:
    """A requirement was added, and nobody made the locks again."""
    write_lock(checkout, run.lock_header() + GOOD)
    pyproject = checkout / "pyproject.toml"
    pyproject.write_text(pyproject.read_text(encoding="utf-8").replace('"six"', '"six", "attrs"'), encoding="utf-8")

    assert len(run.lock_problems("requirements/lock.txt")) == 1


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with nothing but requirements."""
    (tmp_path / "requirements").mkdir()
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nrequires-python = ">=3.11"\ndependencies = ["six"]\noptional-dependencies = {}\n'
        "[dependency-groups]\ndev = []\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(run, "ROOT", tmp_path)
    return tmp_path


def write_lock(checkout: Path, text: str) -> None:
    """Write its main lock."""
    (checkout / "requirements/lock.txt").write_text(text, encoding="utf-8")


def test_the_package_knows_its_version() -> None:
    """What commits say of themselves is what pyproject.toml releases."""
    assert tomllib.loads((run.ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION
