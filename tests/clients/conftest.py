"""A bank of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.bank import Bank


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    """Three accounts in one file: 1 has 100, 2 has 200, 3 has 300."""
    bank = Bank(tmp_path).create()
    yield bank
    bank.close()
