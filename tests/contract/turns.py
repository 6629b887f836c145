"""Whose turn a case is: tests with many cases are shared out between the PyIcebergs that CI runs them on."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import groupby
from typing import Final

import pyiceberg
import pytest

EVERY_CASE: Final = "SERIATIM_EVERY_CASE"
"""The variable by which every case is everybody's turn, for those who choose tests themselves."""

_MINOR: Final = int(pyiceberg.__version__.split(".")[1])
_SHARED_FROM: Final = 16 if _MINOR >= 12 else 4  # cases of a test; where there are fewer, all run


def mark_turns_of_others(functions: Iterable[pytest.Function]) -> None:
    """Mark as `exhaustive` what is another PyIceberg's turn: on 0.11 every other case, on 0.10 and 0.12 those between.

    `run.py contract 0.10 -m ""` runs everything.
    """
    if os.environ.get(EVERY_CASE):
        return
    for _, group in groupby(functions, key=lambda item: (item.path, item.originalname)):
        cases = list(group)
        others = cases[1 - _MINOR % 2 :: 2] if len(cases) >= _SHARED_FROM else []
        for case in others:
            case.add_marker(pytest.mark.exhaustive)
