"""The turns of one call: whatever a turnstile does, the attempt is made, and its error comes out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field

import pytest

from seriatim.commit.turnstile.notices import say_once
from seriatim.commit.turnstile.port import Turnstile
from seriatim.commit.turnstile.turns import Turns
from seriatim.system import Clock
from tests.faults.clock import ManualClock


@dataclass
class _Slow:
    """A turnstile where each turn is waited for, as far as the caller has patience."""

    wait_s: float
    wait_s_max: float = 2.0
    asked: list[float] = field(default_factory=list)

    @contextmanager
    def turn(self, line: str, *, wait_s_max: float, clock: Clock) -> Iterator[None]:
        self.asked.append(wait_s_max)
        clock.wait_s(min(self.wait_s, wait_s_max))
        yield


@dataclass
class _Swallowing(_Slow):
    """One that makes nothing of the errors of its turns."""

    @contextmanager
    def turn(self, line: str, *, wait_s_max: float, clock: Clock) -> Iterator[None]:
        with suppress(Exception):
            yield


@dataclass
class _Broken:
    """One that cannot be asked, or entered, or left."""

    where: str
    wait_s_max: float = 2.0

    def turn(self, line: str, *, wait_s_max: float, clock: Clock) -> AbstractContextManager[None]:
        if self.where == "asked":
            raise RuntimeError(self.where)
        return self._turn()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if self.where == "entered":
            raise RuntimeError(self.where)
        yield
        raise RuntimeError(self.where)


def test_a_call_waits_no_longer_than_it_may_for_all_of_its_turns_together() -> None:
    """A holder that is stuck costs a call its patience once, not once for each attempt."""
    turnstile, clock = _Slow(wait_s=0.8), ManualClock()
    turns = Turns(turnstile, "line", 100.0, clock)

    for _ in range(5):
        with turns.turn():
            clock.wait_s(0.1)

    assert turnstile.asked == pytest.approx([2.0, 1.2, 0.4])
    assert turns.queued_s == pytest.approx(2.0)
    assert turns.taken_s == pytest.approx(0.5)


def test_a_call_waits_no_longer_than_its_policy_allows() -> None:
    turnstile = _Slow(wait_s=9.0)

    with Turns(turnstile, "line", 0.5, ManualClock()).turn():
        assert turnstile.asked == [0.5]


def test_a_table_of_which_nothing_is_known_has_no_line() -> None:
    turnstile = _Slow(wait_s=9.0)

    with Turns(turnstile, None, 100.0, ManualClock()).turn():
        assert turnstile.asked == []


def test_a_call_within_a_call_does_not_wait_for_it() -> None:
    """The outer one has its turn until the inner one is done. In another thread or line, there is a wait."""
    turnstile, clock = _Slow(wait_s=0.1), ManualClock()

    def call(line: str) -> None:
        with Turns(turnstile, line, 100.0, clock).turn():
            pass

    with Turns(turnstile, "line", 100.0, clock).turn():
        call("line")
        asked_within = len(turnstile.asked)
        call("another")
        thread = threading.Thread(target=call, args=("line",))
        thread.start()
        thread.join()
    call("line")

    assert asked_within == 1
    assert len(turnstile.asked) == 4


@pytest.mark.parametrize("where", ["asked", "entered", "left"])
def test_what_a_turnstile_raises_is_logged_once_and_stops_nothing(where: str, caplog: pytest.LogCaptureFixture) -> None:
    say_once.cache_clear()
    turns, attempts = Turns(_Broken(where), "line", 100.0, ManualClock()), 0

    for _ in range(3):
        with turns.turn():
            attempts += 1

    assert attempts == 3
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "turnstile", [_Slow(0.0), _Swallowing(0.0), *(_Broken(where) for where in ("asked", "entered", "left"))]
)
def test_the_error_of_an_attempt_comes_out(turnstile: Turnstile) -> None:
    """A conflict that was swallowed would be a commit that never was."""
    with pytest.raises(ZeroDivisionError), Turns(turnstile, "line", 100.0, ManualClock()).turn():
        raise ZeroDivisionError
