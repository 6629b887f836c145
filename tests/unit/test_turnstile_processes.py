"""The line of processes: what a process leaves behind, whichever way it ends, holds up nobody."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from seriatim.commit.turnstile.patience import Patience
from tests.faults.clock import WatchedClock
from tests.faults.queueing import S_MAX, standing
from tests.faults.tickets import turn_of_process

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,  # Processes are started.
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no line of processes"),
]


def test_processes_have_their_turns_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    """Each one waits before the next one comes, and has its turn when those before have left, not earlier."""
    with ExitStack() as stack:
        stack.enter_context(turn := ExitStack())
        turn.enter_context(turn_of_process(tmp_path, Patience.of(S_MAX, S_MAX, WatchedClock())))
        line = []
        for _ in range(3):
            line.append(stack.enter_context(standing(tmp_path)))
            assert line[-1].says() == "waits"
        turn.close()
        for n, each in enumerate(line):
            assert each.says() == "has its turn"
            assert not any(other.connection.poll() for other in line[n + 1 :])
            each.go_on()
            assert each.says() == "has left"


def test_a_holder_that_is_killed_has_no_turn_any_more(tmp_path: Path) -> None:
    """The operating system closes its FIFO, and that wakes the next one."""
    with standing(tmp_path) as holder:
        assert holder.says() == "has its turn"
        with standing(tmp_path) as waiter:
            assert waiter.says() == "waits"
            holder.kill()

            assert waiter.says() == "has its turn"
            assert len(list(tmp_path.glob("0*"))) == 1


def test_one_that_is_killed_in_the_line_is_passed_over(tmp_path: Path) -> None:
    """It stands between the one whose turn it is and another."""
    with ExitStack() as stack:
        stack.enter_context(turn := ExitStack())
        turn.enter_context(turn_of_process(tmp_path, Patience.of(S_MAX, S_MAX, WatchedClock())))
        dead = stack.enter_context(standing(tmp_path))
        assert dead.says() == "waits"
        last = stack.enter_context(standing(tmp_path))
        assert last.says() == "waits"
        dead.kill()
        turn.close()

        assert last.says() == "has its turn"
        assert len(list(tmp_path.glob("0*"))) == 1


@pytest.mark.parametrize(
    ("function", "printed"),
    [
        ("before, after = leave_in_a_child(Path(sys.argv[1])); print(len(before), before == after)", "1 True"),
        ("print(leave_a_child_behind(Path(sys.argv[1])))", "[0.02]"),
        ("print(wait_in_a_child())", "0"),
        ("print(end_in_a_child(Path(sys.argv[1])))", "False"),
    ],
)
def test_a_forked_child_has_no_place_of_its_parents(tmp_path: Path, function: str, printed: str) -> None:
    """It neither ends its parent's turn nor makes it last, nor waits in its memory of a line for threads it has not."""
    program = f"import sys; from pathlib import Path; from tests.faults.queueing import *; {function}"
    ended = subprocess.run(
        [sys.executable, "-c", program, tmp_path], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (ended.stdout.strip(), ended.returncode) == (printed, 0), ended.stderr
