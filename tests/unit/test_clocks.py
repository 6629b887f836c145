"""What every clock promises of a wait for others, ours and its double."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from seriatim.system import Clock, SystemClock
from tests.faults.clock import ManualClock

S_MAX = 60.0
clocks = pytest.mark.parametrize("clock", [SystemClock(), ManualClock()], ids=["system", "manual"])


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Return the end of a pipe that is read, which the test closes, and the one that is written."""
    reader, writer = os.pipe()
    yield reader, writer
    os.close(writer)


@clocks
def test_a_wait_ends_when_nobody_is_at_the_other_end(pipe: tuple[int, int], clock: Clock) -> None:
    reader, writer = pipe
    os.close(reader)
    begun_s = clock.monotonic_s()

    clock.wait_closed(writer, S_MAX)

    assert clock.monotonic_s() - begun_s < S_MAX


@clocks
def test_a_wait_lasts_as_long_as_it_may_while_somebody_is_there(pipe: tuple[int, int], clock: Clock) -> None:
    """That something could be written ends no wait."""
    reader, writer = pipe
    begun_s = clock.monotonic_s()

    clock.wait_closed(writer, 0.01)
    os.close(reader)

    assert clock.monotonic_s() - begun_s >= 0.01
