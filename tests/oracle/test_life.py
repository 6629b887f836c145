"""Random lives of a table, drawn by Hypothesis, end each step as the serial model says (P1 to P5).

A life that fails is shrunk and printed step by step. The draws are fixed: the test, run again, does it again.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.oracle.machine import Life, LifeInPartitions, LifeOfOld

FIXED = settings(
    derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck), stateful_step_count=25
)


@pytest.mark.parametrize("life", [Life, LifeInPartitions])
def test_a_table_is_what_its_lineage_says_whatever_happens(life: type[Life]) -> None:
    """A few lives, always the same."""
    run_state_machine_as_test(life, settings=settings(FIXED, max_examples=6))


@pytest.mark.exhaustive
@pytest.mark.parametrize("life", [Life, LifeInPartitions, LifeOfOld])
def test_many_lives(life: type[Life]) -> None:
    """More and longer ones."""
    run_state_machine_as_test(life, settings=settings(FIXED, max_examples=20, stateful_step_count=40))
