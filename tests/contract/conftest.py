"""A bank of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.chain_support import story, target
from tests.contract.turns import mark_turns_of_others
from tests.faults.bank import Bank

__all__ = ["story", "target"]  # Of tests on chains of snapshots.


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to other PyIcebergs, and to `exhaustive`, the cases that are not this one's turn."""
    here = Path(__file__).parent
    mark_turns_of_others([item for item in items if isinstance(item, pytest.Function) and item.path.parent == here])


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
