"""Processes that stand in a line until they are told to go on, or are killed."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from seriatim.commit.turnstile.patience import Patience
from seriatim.commit.turnstile.threads import ThreadLines
from seriatim.commit.turnstile.tickets import take_turn
from tests.faults.clock import AskedClock, EventfulClock, ManualClock, SleepyClock, WatchedClock
from tests.faults.tickets import turn_of_process

S_MAX: Final = 60.0


@dataclass(frozen=True, slots=True)
class Standing:
    """A process in a line, which says `waits`, `has its turn` and `has left`."""

    process: BaseProcess
    connection: Connection

    def says(self) -> str:
        """Return what it says next."""
        if not self.connection.poll(S_MAX):
            raise TimeoutError("a process in a line says nothing")
        return str(self.connection.recv())

    def go_on(self) -> None:
        """Let it leave the line."""
        self.connection.send("go on")

    def kill(self) -> None:
        """Kill it, as the operating system does when memory is short."""
        self.process.kill()
        self.process.join()


@contextmanager
def standing(folder: Path) -> Iterator[Standing]:
    """Have a process that goes into the line that the folder keeps, and stays until it may go on."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_stand, args=(folder, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield Standing(process, ours)
    finally:
        process.kill()
        process.join()
        ours.close()


def _stand(folder: Path, connection: Connection) -> None:
    clock = SleepyClock(lambda: connection.send("waits"))
    with turn_of_process(folder, Patience.of(S_MAX, S_MAX, clock)):
        connection.send("has its turn")
        connection.recv()
    connection.send("has left")


def leave_in_a_child(folder: Path) -> tuple[list[str], list[str]]:
    """Fork in a turn, let the child end it, and return which tickets there were before and after."""
    patience = Patience.of(S_MAX, S_MAX, WatchedClock())
    turn = turn_of_process(folder, patience)
    turn.__enter__()
    before = [path.name for path in folder.glob("0*")]
    child = os.fork()
    if not child:
        turn.__exit__(None, None, None)
        os._exit(0)
    os.waitpid(child, 0)
    after = [path.name for path in folder.glob("0*")]
    turn.__exit__(None, None, None)
    return before, after


def leave_a_child_behind(folder: Path) -> list[float]:
    """Fork in a turn, end it while the child lives, and return the pauses of the next in line."""
    turn = turn_of_process(folder, Patience.of(S_MAX, S_MAX, ManualClock()))
    turn.__enter__()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(writer)
        os.read(reader, 1)  # Until the parent has closed its end.
        os._exit(0)
    clock = EventfulClock(lambda: turn.__exit__(None, None, None))
    with turn_of_process(folder, Patience.of(S_MAX, S_MAX, clock)):
        os.close(writer)
    os.waitpid(child, 0)
    return clock.waits


def wait_in_a_child() -> int:
    """Fork in a thread's turn, and return the exit code of a child that wants one for itself: 0, it had it at once."""
    lines, patience = ThreadLines(), Patience.of(0.0, S_MAX, WatchedClock())
    with lines.turn("a", patience):
        child = os.fork()
        if not child:
            with lines.turn("a", patience) as has_turn:
                os._exit(0 if has_turn else 1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def end_in_a_child(folder: Path) -> bool:
    """Fork in a turn for which another thread waits, and tell whether a child that ends it still holds the ticket."""
    lines, patience = ThreadLines(), Patience.of(S_MAX, S_MAX, WatchedClock())
    clock = AskedClock()

    def wait() -> None:
        with lines.turn("a", clock.patience(S_MAX, S_MAX)):
            pass

    with lines.turn("a", patience) as place:
        assert place is not None
        place.held = take_turn(folder, patience)
        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        assert clock.is_asked.wait(S_MAX)
        child = os.fork()
    if not child:
        os._exit(0 if place.held is None else 1)
    thread.join(S_MAX)
    return bool(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
