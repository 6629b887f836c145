"""The turn of a process is handed on among its threads, as long as no other process waits for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest

from seriatim import LocalTurnstile
from seriatim.commit.turnstile.folders import folder_of
from seriatim.commit.turnstile.patience import Patience
from seriatim.system import Clock
from tests.faults.clock import AskedClock, WatchedClock
from tests.faults.tickets import turn_of_process

S_MAX = 60.0


class Line:
    """Threads of this process, and another process, on one line; `turns` holds whose turn it was, and its ticket."""

    def __init__(self, root: Path) -> None:
        self.turnstile = LocalTurnstile(S_MAX, root)
        self.folder = folder_of("line", root)
        self.turns: list[tuple[str, str]] = []

    def turn(self, clock: Clock) -> AbstractContextManager[None]:
        return self.turnstile.turn("line", wait_s_max=S_MAX, clock=clock)

    def note(self, name: str) -> None:
        self.turns.append((name, min(path.name for path in self.folder.glob("0*"))))

    @contextmanager
    def thread(self, name: str) -> Iterator[None]:
        """Have a thread wait for its turn behind the block, which it notes."""
        clock = AskedClock(times=2)  # Once for how long it may wait, before it is in the line.

        def wait() -> None:
            with self.turn(clock):
                self.note(name)

        yield from _running(wait, clock.is_asked)

    @contextmanager
    def process(self, name: str) -> Iterator[None]:
        """Have another process wait for its turn behind the block."""
        clock = WatchedClock()

        def wait() -> None:
            with turn_of_process(self.folder, Patience.of(S_MAX, S_MAX, clock)):
                self.note(name)

        yield from _running(wait, clock.waits)


def _running(function: object, has_begun: threading.Event) -> Iterator[None]:
    assert callable(function)
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    assert has_begun.wait(S_MAX)
    yield
    thread.join(S_MAX)
    assert not thread.is_alive()


@pytest.fixture
def line(tmp_path: Path) -> Line:
    return Line(tmp_path / "root")


def test_threads_have_one_ticket_while_no_other_process_waits(line: Line) -> None:
    with ExitStack() as behind, line.turn(WatchedClock()):
        line.note("first")
        for name in ("second", "third"):
            behind.enter_context(line.thread(name))

    assert [name for name, _ in line.turns] == ["first", "second", "third"]
    assert len({ticket for _, ticket in line.turns}) == 1
    assert list(line.folder.glob("0*")) == []


def test_another_process_waits_for_one_turn_of_a_thread_alone(line: Line) -> None:
    """However many threads came before it."""
    with ExitStack() as behind, line.turn(WatchedClock()):
        line.note("first")
        behind.enter_context(line.thread("second"))
        behind.enter_context(line.thread("third"))
        behind.enter_context(line.process("other"))

    assert [name for name, _ in line.turns] == ["first", "other", "second", "third"]
    assert len({ticket for _, ticket in line.turns}) == 3
    assert list(line.folder.glob("0*")) == []


def test_a_turn_that_other_processes_have_passed_over_is_not_handed_on(line: Line) -> None:
    """They have their turn: the next thread waits for that."""
    with ExitStack() as behind, line.turn(WatchedClock()):
        line.note("first")
        behind.enter_context(line.thread("second"))
        for ticket in line.folder.glob("0*"):
            ticket.unlink()

    (_, first), (_, second) = line.turns
    assert first != second


def test_turnstiles_of_one_process_that_keep_their_lines_elsewhere_hand_nothing_on(line: Line, tmp_path: Path) -> None:
    other = Line(tmp_path / "other")
    with ExitStack() as behind, line.turn(WatchedClock()):
        line.note("first")
        behind.enter_context(other.thread("second"))

    assert [name for name, _ in other.turns] == ["second"]
    assert list(line.folder.glob("0*")) == list(other.folder.glob("0*")) == []
