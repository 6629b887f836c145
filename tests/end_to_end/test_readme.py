"""The README's code does what the README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.faults.bank import Bank

ROOT = Path(__file__).parents[2]


def _run(bank: Bank, code: str) -> None:
    places = {f"PYICEBERG_CATALOG__BANK__{name.upper()}": value for name, value in bank.properties().items()}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, **places}, check=True)


def test_the_ten_lines_pay_interest_once(tmp_path: Path) -> None:
    """Whoever runs them again changes nothing."""
    bank = Bank(tmp_path).create()
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)

    _run(bank, code)
    after_first = bank.balances()
    _run(bank, code + "\nassert receipt.is_noop and set(receipt.already_applied) == {'interest|1993-01'}")

    assert after_first == {1: 101, 2: 202, 3: 303}
    assert bank.balances() == after_first
