"""A bank of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.chain_support import story, target
from tests.faults.bank import Bank

__all__ = ["story", "target"]  # Of tests on chains of snapshots.


@pytest.fixture
def empty_bank(tmp_path: Path) -> Iterator[Bank]:
    """A bank whose table is still to be created."""
    bank = Bank(tmp_path)
    yield bank
    bank.close()
