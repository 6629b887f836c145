"""The line of processes, within one: a FIFO is held by whoever opened it, so that threads stand for processes."""

from __future__ import annotations

import fcntl
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from seriatim.commit.turnstile.patience import Patience
from seriatim.system import Clock, SystemClock
from tests.faults.clock import EventfulClock, ManualClock, SleepyClock
from tests.faults.tickets import turn_of_process

S_MAX = 60.0


def patient(clock: Clock) -> Patience:
    """Return patience with everybody."""
    return Patience.of(S_MAX, S_MAX, clock)


@contextmanager
def waiting(folder: Path, turns: list[str], name: str) -> Iterator[None]:
    """Have a thread that waits in the line until the block is left; its turn is noted when it begins and ends."""
    clock = SleepyClock()

    def wait() -> None:
        with turn_of_process(folder, patient(clock)) as has_turn:
            assert has_turn
            turns.append(f"{name} begins")
            turns.append(f"{name} ends")

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    assert clock.waits.wait(S_MAX)
    yield
    thread.join(S_MAX)
    assert not thread.is_alive()


def test_turns_come_one_at_a_time_in_the_order_of_the_line(tmp_path: Path) -> None:
    """Each of the three is in the line before the next one comes, and is woken by the turn before its own."""
    turns: list[str] = []
    with turn_of_process(tmp_path, patient(ManualClock())) as has_turn:
        one, two, three = (waiting(tmp_path, turns, name) for name in ("one", "two", "three"))
        one.__enter__()
        two.__enter__()
        three.__enter__()
        turns.append("the first ends")
    for each in (one, two, three):
        each.__exit__(None, None, None)

    assert has_turn
    assert turns == ["the first ends", *(f"{name} {what}" for name in ("one", "two", "three") for what in WHAT)]
    assert [path.name for path in tmp_path.iterdir()] == ["door"]


WHAT = ("begins", "ends")


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[ExitStack]:
    """Have somebody whose turn it is until the stack is closed."""
    with ExitStack() as stack:
        stack.enter_context(turn_of_process(tmp_path, patient(ManualClock())))
        yield stack


def test_the_end_of_a_turn_wakes_the_next_in_line(tmp_path: Path, holder: ExitStack) -> None:
    """No time passes by its clock."""
    clock = EventfulClock(holder.close)

    with turn_of_process(tmp_path, patient(clock)) as has_turn:
        assert has_turn
        assert clock.happens is None
        assert clock.seconds == 0


def test_the_death_of_a_holder_wakes_the_next_in_line(tmp_path: Path) -> None:
    """Its FIFO stays, and the operating system closes it."""
    ticket = tmp_path / "000000000001-somebody"
    os.mkfifo(ticket)
    descriptor = os.open(ticket, os.O_RDONLY | os.O_NONBLOCK)
    clock = EventfulClock(lambda: os.close(descriptor))

    with turn_of_process(tmp_path, patient(clock)) as has_turn:
        assert has_turn
        assert clock.seconds == 0
        assert not ticket.exists()


def test_one_that_leaves_when_it_has_just_been_seen_is_not_waited_for(tmp_path: Path, holder: ExitStack) -> None:
    """Its FIFO is gone before it can be opened."""

    class Interfering(ManualClock):
        def monotonic_s(self) -> float:
            if len(list(tmp_path.glob("0*"))) == 2:
                holder.close()  # The one behind has looked at the line, and asks how late it is.
            return super().monotonic_s()

    clock = Interfering()

    with turn_of_process(tmp_path, patient(clock)) as has_turn:
        assert has_turn
        assert clock.waits == []


def test_a_ticket_that_somebody_else_holds_open_is_looked_for_all_the_same(tmp_path: Path, holder: ExitStack) -> None:
    """A child that was forked in the turn: the next in line is not woken, and looks."""
    [ticket] = tmp_path.glob("0*")
    child = os.open(ticket, os.O_RDONLY | os.O_NONBLOCK)
    clock = EventfulClock(holder.close)

    with turn_of_process(tmp_path, patient(clock)) as has_turn:
        os.close(child)

    assert has_turn
    assert clock.waits == [0.02]


def test_whoever_waits_looks_seldom(tmp_path: Path, holder: ExitStack) -> None:
    """By the machine's clock, too: nothing but the end of a turn wakes it, however often that is waited for."""

    class Counting(SystemClock):
        waits = 0

        def wait_closed(self, descriptor: int, wait_s_max: float) -> None:
            self.waits += 1
            super().wait_closed(descriptor, wait_s_max)

    clock = Counting()

    with turn_of_process(tmp_path, Patience.of(0.2, S_MAX, clock)) as has_turn:
        assert not has_turn
        assert 1 <= clock.waits <= 11


def test_one_that_gives_up_is_no_loss_to_those_behind(tmp_path: Path) -> None:
    """They are woken, and wait for the one before it."""
    turns: list[str] = []
    last = waiting(tmp_path, turns, "the last")
    impatient = turn_of_process(tmp_path, Patience.of(0.5, 1.0, EventfulClock(last.__enter__)))
    with turn_of_process(tmp_path, patient(ManualClock())):
        with impatient as has_turn:
            assert not has_turn
        turns.append("the first ends")
    last.__exit__(None, None, None)

    assert turns == ["the first ends", "the last begins", "the last ends"]


def test_a_ticket_is_for_its_user_alone(tmp_path: Path, holder: ExitStack) -> None:
    [ticket] = tmp_path.glob("0*")

    assert stat.filemode(ticket.stat().st_mode) == "prw-------"


def test_what_is_no_ticket_keeps_nobody_running_in_circles(tmp_path: Path) -> None:
    """It can be neither waited for nor removed: there is no line, and nobody stays in it."""
    (tmp_path / "000000000001-folder").mkdir()

    with pytest.raises(IsADirectoryError), turn_of_process(tmp_path, patient(ManualClock())):
        pytest.fail("a folder was waited for")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["000000000001-folder", "door"]


def test_one_that_keeps_its_turn_is_passed_over(tmp_path: Path) -> None:
    """And when it ends its turn after all, it takes nobody else's place out of the line."""
    clock = ManualClock()
    with turn_of_process(tmp_path, patient(clock)):
        stuck = list(tmp_path.glob("0*"))
        with turn_of_process(tmp_path, Patience.of(2.0, 1.0, clock)) as has_turn:
            left = list(tmp_path.glob("0*"))

    assert has_turn
    assert clock.seconds == pytest.approx(1.0, abs=1e-9)
    assert len(stuck) == len(left) == 1
    assert stuck != left


def test_a_late_end_of_a_turn_removes_no_newer_ticket(tmp_path: Path) -> None:
    """The line was empty meanwhile, so that its numbers began anew."""
    clock = ManualClock()
    stuck = turn_of_process(tmp_path, patient(clock))
    stuck.__enter__()
    with turn_of_process(tmp_path, Patience.of(2.0, 1.0, clock)):
        pass
    with turn_of_process(tmp_path, patient(clock)):
        newer = list(tmp_path.glob("0*"))
        stuck.__exit__(None, None, None)

        assert len(newer) == 1
        assert newer == list(tmp_path.glob("0*"))


def test_one_that_has_lost_patience_is_waited_for_by_nobody(tmp_path: Path) -> None:
    clock = ManualClock()
    impatient = turn_of_process(tmp_path, Patience.of(0.5, 1.0, clock))
    with turn_of_process(tmp_path, patient(clock)), impatient as has_turn:
        tickets = list(tmp_path.glob("0*"))

    assert not has_turn
    assert clock.seconds == pytest.approx(0.5)
    assert len(tickets) == 1


def test_tickets_that_nobody_holds_are_no_tickets(tmp_path: Path) -> None:
    """They are what is left of processes that were killed: looked at once, and removed."""
    for n in range(3):
        os.mkfifo(tmp_path / f"{n:012}-dead")
    clock = ManualClock()

    with turn_of_process(tmp_path, patient(clock)) as has_turn:
        assert has_turn
        assert clock.waits == []
        assert len(list(tmp_path.glob("0*"))) == 1


def test_a_door_that_stays_shut_makes_nobody_wait_for_long(tmp_path: Path) -> None:
    """Somebody was stopped right in it."""
    clock = ManualClock()
    with (tmp_path / "door").open("w") as door:
        fcntl.flock(door, fcntl.LOCK_EX)

        with pytest.raises(TimeoutError), turn_of_process(tmp_path, Patience.of(S_MAX, 1.0, clock)):
            pytest.fail("the door was passed")

    assert clock.seconds == pytest.approx(1.0, abs=0.02)
    assert [path.name for path in tmp_path.iterdir()] == ["door"]


def test_a_turn_that_ends_in_an_error_has_ended(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), turn_of_process(tmp_path, patient(ManualClock())):
        raise ZeroDivisionError

    assert list(tmp_path.glob("0*")) == []
