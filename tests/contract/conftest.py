"""A bank of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pyiceberg
import pytest

from tests.contract.chain_support import story, target
from tests.faults.bank import Bank

__all__ = ["story", "target"]  # Of tests on chains of snapshots.

MINOR = int(pyiceberg.__version__.split(".")[1])
NEWEST = 12
CASES_MIN = 4  # Fewer are not shared out.


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Share out the cases of a test between the two older PyIcebergs; the newest has all of them.

    What is not a version's turn is `exhaustive` there: `run.py contract 0.10 -m ""` runs everything.
    """
    if MINOR >= NEWEST:
        return
    here = Path(__file__).parent
    functions = [item for item in items if isinstance(item, pytest.Function) and item.path.parent == here]
    for _, group in groupby(functions, key=lambda item: (item.path, item.originalname)):
        cases = list(group)
        others = cases[1 - MINOR % 2 :: 2] if len(cases) >= CASES_MIN else []
        for case in others:
            case.add_marker(pytest.mark.exhaustive)


@pytest.fixture
def empty_bank(tmp_path: Path) -> Iterator[Bank]:
    """A bank whose table is still to be created, with the schema and rows that the test is about."""
    bank = Bank(tmp_path)
    yield bank
    bank.close()


@pytest.fixture
def bank(empty_bank: Bank) -> Bank:
    """Three accounts in one file: 1 has 100, 2 has 200, 3 has 300."""
    return empty_bank.create()
