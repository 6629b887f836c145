"""The line of a process's threads: each is woken by the one before, in the order in which they came."""

from __future__ import annotations

import threading

from seriatim.commit.turnstile.patience import Patience
from seriatim.commit.turnstile.threads import ThreadLines
from seriatim.system import SystemClock

S_MAX = 60.0


class _AskedClock(SystemClock):
    """A clock that tells when it is first asked, which a thread does once it is in the line."""

    def __init__(self) -> None:
        self.is_asked = threading.Event()

    def monotonic_s(self) -> float:
        self.is_asked.set()
        return super().monotonic_s()


def _patience(wait_s: float = S_MAX, turn_s_max: float = S_MAX) -> tuple[_AskedClock, Patience]:
    clock = _AskedClock()
    return clock, Patience(clock, SystemClock().monotonic_s() + wait_s, turn_s_max)


def test_turns_come_one_at_a_time_in_the_order_of_the_line() -> None:
    """Each is in the line before the next one comes; another line is no concern of theirs."""
    lines, turns, threads = ThreadLines(), list[str](), list[threading.Thread]()

    def wait(name: str, patience: Patience) -> None:
        with lines.turn("a", patience) as place:
            assert place is not None
            turns.append(f"{name} begins")
            turns.append(f"{name} ends")

    with lines.turn("a", _patience()[1]), lines.turn("b", _patience()[1]) as place:
        for n in range(4):
            clock, patience = _patience()
            threads.append(threading.Thread(target=wait, args=(str(n), patience), daemon=True))
            threads[-1].start()
            assert clock.is_asked.wait(S_MAX)
        turns.append("the first ends")
    for thread in threads:
        thread.join(S_MAX)

    assert place is not None
    assert turns == ["the first ends", *(f"{n} {what}" for n in range(4) for what in ("begins", "ends"))]


def test_a_thread_that_keeps_its_turn_is_passed_over() -> None:
    """By all: the next one waits for nobody; and its late end takes nobody's turn."""
    lines = ThreadLines()
    stuck = lines.turn("a", _patience()[1])
    first = stuck.__enter__()
    assert first is not None
    first.has_begun = True

    with lines.turn("a", _patience(turn_s_max=0.01)[1]) as second:
        stuck.__exit__(None, None, None)
        with lines.turn("a", _patience(0.01)[1]) as third:
            pass

    assert second is not None
    assert third is None  # The second still had its turn.


def test_a_thread_that_waits_for_other_processes_is_not_passed_over() -> None:
    """Its turn has not begun, however long that takes: those behind it would wait for the same."""
    lines = ThreadLines()
    with lines.turn("a", _patience()[1]) as first, lines.turn("a", _patience(0.05, turn_s_max=0.01)[1]) as second:
        pass

    assert first is not None
    assert second is None


def test_a_thread_that_has_lost_patience_is_waited_for_by_nobody() -> None:
    lines = ThreadLines()
    with lines.turn("a", _patience()[1]), lines.turn("a", _patience(0.01)[1]) as impatient:
        pass
    with lines.turn("a", _patience(0.01)[1]) as following:
        pass

    assert impatient is None
    assert following is not None
