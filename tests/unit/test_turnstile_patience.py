"""How a place in a line waits: until the one before has left, and never for longer than it may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from seriatim.commit.turnstile.patience import Patience, wait_for_turn
from seriatim.system import Clock
from tests.faults.clock import ManualClock


@dataclass
class _Line:
    """A place behind others, of whom each leaves at a time of its own; the dead leave when they are waited for."""

    clock: ManualClock
    leaving_s: Mapping[str, float]
    dead: frozenset[str] = frozenset()
    passed_over: list[tuple[str, float]] = field(default_factory=list)

    def ahead(self) -> Sequence[str]:
        out = {name for name, _ in self.passed_over}
        return [name for name, at_s in self.leaving_s.items() if at_s > self.clock.seconds and name not in out]

    def pass_over(self, name: str) -> None:
        self.passed_over.append((name, self.clock.seconds))

    def wait_for(self, name: str, wait_s_max: float, clock: Clock) -> None:
        if name in self.dead:
            self.pass_over(name)
        else:
            clock.wait_s(min(wait_s_max, max(0.0, self.leaving_s[name] - clock.monotonic_s())))


def _wait(line: _Line, *, wait_s_max: float = 2.0, turn_s_max: float = 1.0) -> bool:
    return wait_for_turn(line, Patience.of(wait_s_max, turn_s_max, line.clock))


def test_nobody_waits_in_an_empty_line() -> None:
    clock = ManualClock()

    assert _wait(_Line(clock, {}))
    assert clock.waits == []


@pytest.mark.parametrize("turn_s", [0.01, 0.1, 0.9])
def test_a_turn_begins_when_the_one_before_has_ended(turn_s: float) -> None:
    """At once, so that a line is as fast as one writer alone."""
    clock = ManualClock()

    assert _wait(_Line(clock, {"before": turn_s}))
    assert clock.seconds == pytest.approx(turn_s, abs=1e-9)


def test_the_end_of_a_long_line_comes_as_soon_and_looks_seldom() -> None:
    """63 turns of 10 ms are ahead: it is there when the last of them ends, after a look every 0.1 s."""
    clock = ManualClock()

    assert _wait(_Line(clock, {f"{n:02}": 0.01 * (n + 1) for n in range(63)}))
    assert clock.seconds == pytest.approx(0.63, abs=1e-9)
    assert len(clock.waits) == 7


@pytest.mark.parametrize(("ahead", "lost_s"), [(1, 0.02), (2, 0.04), (15, 0.1)])
def test_a_wake_up_that_does_not_come_costs_little(ahead: int, lost_s: float) -> None:
    """All leave right after a look at them, which is the worst moment, and nobody says so."""

    class Silent(_Line):
        def wait_for(self, name: str, wait_s_max: float, clock: Clock) -> None:
            clock.wait_s(wait_s_max)

    clock = ManualClock()

    assert _wait(Silent(clock, dict.fromkeys(map(str, range(ahead)), 1e-6)))
    assert clock.seconds == lost_s


def test_whoever_keeps_its_turn_too_long_is_passed_over() -> None:
    """A process that is stopped, or a change that takes a minute: those behind keep their order, and go on."""
    clock = ManualClock()
    line = _Line(clock, {"stuck": 60.0, "next": 1.2})

    assert _wait(line)
    assert [name for name, _ in line.passed_over] == ["stuck"]
    assert line.passed_over[0][1] == pytest.approx(1.0, abs=1e-9)
    assert clock.seconds == pytest.approx(1.2, abs=1e-9)


def test_after_two_long_turns_there_is_no_use_in_waiting() -> None:
    """Changes take long here: several at a time are better than one, though conflicts may come of it."""
    clock = ManualClock()
    line = _Line(clock, {"first": 60.0, "second": 120.0, "third": 180.0})

    assert not _wait(line, wait_s_max=30.0)
    assert [name for name, _ in line.passed_over] == ["first", "second"]
    assert clock.seconds == pytest.approx(2.0, abs=1e-9)


def test_a_long_turn_counts_whoever_has_passed_it_over() -> None:
    """Most often that is the next in line, which saw it begin: those behind have waited for it all the same."""
    clock = ManualClock()

    assert not _wait(_Line(clock, {"first": 0.99, "second": 1.98, "third": 60.0}), wait_s_max=30.0)
    assert clock.seconds == pytest.approx(2.0, abs=1e-9)


@pytest.mark.parametrize("turn_s_max", [0.02, 0.1])
def test_short_turns_are_not_taken_for_long_ones(turn_s_max: float) -> None:
    """Where a turn may take little, those far back look at the line as much more often."""
    clock = ManualClock()
    line = _Line(clock, {f"{n:02}": turn_s_max * 0.7 * (n + 1) for n in range(20)})

    assert _wait(line, turn_s_max=turn_s_max)
    assert clock.seconds == pytest.approx(turn_s_max * 14, abs=1e-9)


def test_a_line_that_moves_is_waited_for() -> None:
    """For as long as may be waited in all."""
    clock = ManualClock()

    assert _wait(_Line(clock, {f"{n:02}": 0.4 * (n + 1) for n in range(32)}), wait_s_max=30.0)
    assert clock.seconds == pytest.approx(12.8, abs=1e-9)


def test_a_line_that_moves_passes_nobody_over() -> None:
    """Each turn is shorter than may be, all of them together are not."""
    clock = ManualClock()
    line = _Line(clock, {"a": 0.9, "b": 1.8})

    assert _wait(line)
    assert line.passed_over == []


def test_patience_ends_when_it_should() -> None:
    """To the moment: a pause is cut short by it."""
    clock = ManualClock()
    line = _Line(clock, {"a": 0.9, "b": 1.8, "c": 2.7})

    assert not _wait(line)
    assert clock.seconds == pytest.approx(2.0)


def test_those_who_have_died_are_passed_over_at_once() -> None:
    """All of them without a pause, though a whole pool of processes was killed."""
    clock = ManualClock()
    names = [f"{n:02}" for n in range(16)]

    assert _wait(_Line(clock, dict.fromkeys(names, 60.0), dead=frozenset(names)))
    assert clock.waits == []


def test_one_who_cannot_be_passed_over_is_waited_for_no_longer() -> None:
    """A file that cannot be removed makes nobody wait for ever, or run in circles."""

    class Immovable(_Line):
        def pass_over(self, name: str) -> None:
            """Fail to remove it."""

    clock = ManualClock()

    assert not _wait(Immovable(clock, {"stuck": 60.0}))
    assert clock.seconds == pytest.approx(2.0)
    assert len(clock.waits) <= 2 * 51
