"""The line of processes, within one: files are locked by whoever opened them, so that threads stand for processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seriatim.commit.turnstile.patience import Patience
from seriatim.commit.turnstile.tickets import turn_of_process
from seriatim.system import Clock
from tests.faults.clock import ManualClock, WatchedClock

S_MAX = 60.0


def patient(clock: Clock) -> Patience:
    """Return patience with everybody."""
    return Patience.of(S_MAX, S_MAX, clock)


@contextmanager
def waiting(folder: Path, turns: list[str], name: str) -> Iterator[None]:
    """Have a thread that waits in the line until the block is left; its turn is noted when it begins and ends."""
    clock = WatchedClock()

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
    """Each of the three is in the line before the next one comes."""
    turns: list[str] = []
    with turn_of_process(tmp_path, patient(WatchedClock())) as has_turn:
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


def test_one_that_keeps_its_turn_is_passed_over(tmp_path: Path) -> None:
    """And when it ends its turn after all, it takes nobody else's place out of the line."""
    clock = ManualClock()
    with turn_of_process(tmp_path, patient(clock)):
        stuck = list(tmp_path.glob("0*"))
        with turn_of_process(tmp_path, Patience.of(2.0, 1.0, clock)) as has_turn:
            left = list(tmp_path.glob("0*"))

    assert has_turn
    assert clock.seconds == pytest.approx(1.0, abs=0.05)
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
        (tmp_path / f"{n:012}-dead").touch()
    clock = ManualClock()

    with turn_of_process(tmp_path, patient(clock)) as has_turn:
        assert has_turn
        assert clock.seconds < 0.1
        assert len(list(tmp_path.glob("0*"))) == 1


def test_a_door_that_stays_shut_makes_nobody_wait_for_long(tmp_path: Path) -> None:
    """Somebody was stopped right in it."""
    filelock = pytest.importorskip("filelock")
    clock = ManualClock()
    with (tmp_path / "door").open("w") as door:
        assert filelock.lock_descriptor(door.fileno(), blocking=False)

        with pytest.raises(TimeoutError), turn_of_process(tmp_path, Patience.of(S_MAX, 1.0, clock)):
            pytest.fail("the door was passed")

    assert clock.seconds == pytest.approx(1.0, abs=0.02)
    assert [path.name for path in tmp_path.iterdir()] == ["door"]


def test_a_turn_that_ends_in_an_error_has_ended(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), turn_of_process(tmp_path, patient(ManualClock())):
        raise ZeroDivisionError

    assert list(tmp_path.glob("0*")) == []
