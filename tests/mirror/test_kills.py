"""A process that mirrors is killed with SIGKILL at every step; the next run goes on where the table is."""

from __future__ import annotations

import signal
import sys

import pytest

from tests.faults.victim import Gate
from tests.mirror.hand_table import HandTable
from tests.mirror.mortal import mirror_and_die, run_in_a_process
from tests.mirror.targets import Target, assert_mirrors, versions

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL, and no fork")

GATES = [gate for gate in Gate if gate not in (Gate.NOWHERE, Gate.COMPUTED, Gate.RETURNED)]
BATCH = 3


@pytest.fixture
def source(source: HandTable) -> HandTable:
    """Nine versions in three batches, each of which writes position deletes."""
    path = source.append()
    source.delete(path, 0)
    source.delete(path, 0, 1)
    other = source.append()
    source.delete(other, 2)
    source.rewrite([path, other])
    third = source.append()
    source.delete(third, 1)
    return source


@pytest.mark.parametrize("commit", [1, 2])
@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
def test_a_run_that_is_killed_is_gone_on_with(target: Target, source: HandTable, gate: Gate, commit: int) -> None:
    """Requirement 4. What the dead process left harms nobody, and nothing is doubled or missing."""
    exit_code = run_in_a_process(mirror_and_die, target.path, source.uri, gate, commit, BATCH, {})

    landed = BATCH * (commit if gate.has_landed else commit - 1)
    assert exit_code == -signal.SIGKILL
    assert versions(target.table()) == list(range(landed))
    assert target.inventory().missing == []

    receipt = target.mirror(source)

    assert_mirrors(target, source)
    assert target.inventory().missing == []
    assert receipt.base_version == (landed - 1 if landed else None)
    assert [each.version for each in receipt.landed] == list(range(landed, 9))


@pytest.mark.parametrize("gate", ["before creation", "after creation"])
def test_a_run_that_is_killed_around_the_creation_of_the_table_is_gone_on_with(
    target: Target, source: HandTable, gate: str
) -> None:
    """The empty table that it leaves says what it is to be."""
    assert run_in_a_process(mirror_and_die, target.path, source.uri, gate, 1, None, {}) == -signal.SIGKILL

    target.mirror(source)

    assert_mirrors(target, source)


def test_a_run_that_is_killed_when_it_has_dropped_the_old_mirror_is_gone_on_with(
    target: Target, source: HandTable
) -> None:
    """There is no table then; whoever comes next makes it."""
    target.mirror(source)
    options = {"start_over": True}
    exit_code = run_in_a_process(mirror_and_die, target.path, source.uri, "before creation", 1, None, options)
    assert exit_code == -signal.SIGKILL

    target.mirror(source)

    assert_mirrors(target, source)


def test_without_a_gate_nobody_dies(target: Target, source: HandTable) -> None:
    """It is the gate that kills."""
    assert run_in_a_process(mirror_and_die, target.path, source.uri, Gate.NOWHERE, 1, BATCH, {}) == 0
    assert_mirrors(target, source)
    assert target.inventory().unreachable == []
