"""The line of a process's threads: each is woken by the one before, in the order in which they came."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from seriatim.commit.turnstile.patience import Patience
from seriatim.commit.turnstile.threads import ThreadLines
from tests.faults.clock import AskedClock

S_MAX = 60.0


def _patience(wait_s: float = S_MAX, turn_s_max: float = S_MAX) -> tuple[AskedClock, Patience]:
    clock = AskedClock()
    return clock, clock.patience(wait_s, turn_s_max)


class _Ticket:
    """What the first in a line holds."""

    def __init__(self, *, is_wanted: bool = False) -> None:
        self._is_wanted = is_wanted
        self.given_back = 0

    def is_wanted(self) -> bool:
        return self._is_wanted

    def give_back(self) -> None:
        self.given_back += 1


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


@contextmanager
def _next_in_line(lines: ThreadLines, found: list[tuple[object, int]], ticket: _Ticket) -> Iterator[None]:
    """Have a thread wait behind the block; `found` says what it held in its turn, and whether that was given back."""
    clock, patience = _patience()

    def wait() -> None:
        with lines.turn("a", patience) as place:
            assert place is not None
            found.append((place.held, ticket.given_back))

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    assert clock.is_asked.wait(S_MAX)
    yield
    thread.join(S_MAX)


def test_what_a_thread_holds_is_handed_on_and_given_back_by_the_last() -> None:
    lines, ticket, found = ThreadLines(), _Ticket(), list[tuple[object, int]]()
    with ExitStack() as stack, lines.turn("a", _patience()[1]) as place:
        assert place is not None
        place.held = ticket
        for _ in range(3):
            stack.enter_context(_next_in_line(lines, found, ticket))

    assert found == [(ticket, 0)] * 3
    assert ticket.given_back == 1


def test_what_others_want_is_given_back_before_the_next_thread_begins() -> None:
    lines, ticket, found = ThreadLines(), _Ticket(is_wanted=True), list[tuple[object, int]]()
    with ExitStack() as stack, lines.turn("a", _patience()[1]) as place:
        assert place is not None
        place.held = ticket
        stack.enter_context(_next_in_line(lines, found, ticket))

    assert found == [(None, 1)]
    assert ticket.given_back == 1


def test_what_a_thread_holds_that_was_passed_over_is_nobody_elses() -> None:
    """Its turn has not ended: the next one takes one of its own, and what it holds stays with it until then."""
    lines, ticket = ThreadLines(), _Ticket()
    stuck = lines.turn("a", _patience()[1])
    first = stuck.__enter__()
    assert first is not None
    first.held, first.has_begun = ticket, True

    with lines.turn("a", _patience(turn_s_max=0.01)[1]) as second:
        assert second is not None
        assert (second.held, ticket.given_back) == (None, 0)
        stuck.__exit__(None, None, None)
        assert (second.held, ticket.given_back) == (None, 1)
