"""How pauses follow what was seen: writers that meet conflicts spread out, those that meet none close up."""

from __future__ import annotations

import heapq
import random

import pytest

from seriatim import RetryPolicy
from seriatim.commit.pace import UNSEEN, Pace


def test_the_first_pause_is_as_long_as_an_attempt() -> None:
    assert UNSEEN.measured(2, 0.5).first_s == pytest.approx(0.25)


def test_a_clock_that_sees_no_time_pass_makes_no_storm() -> None:
    assert UNSEEN.measured(1, 0.0).first_s > 0


@pytest.mark.parametrize(("attempts", "crowd"), [(1, 6.4), (2, 12.8), (3, 25.6), (9, 64.0), (10_000, 64.0)])
def test_conflicts_double_what_the_next_call_begins_with_and_a_call_eases_it(attempts: int, crowd: float) -> None:
    assert Pace(crowd=8.0).after(attempts).crowd == pytest.approx(crowd)


def test_a_table_without_conflicts_is_no_crowd() -> None:
    assert UNSEEN.after(1).crowd == 1.0


@pytest.mark.parametrize("rest_s", [0.0, 0.02, 0.3], ids=["at_once", "soon", "later"])
@pytest.mark.parametrize("writers", [1, 4, 16])
def test_writers_without_a_turnstile_need_few_attempts(writers: int, rest_s: float) -> None:
    """Processes with 25 changes each, an attempt taking 10 ms; between two changes they rest for up to `rest_s`."""
    attempts = _race([UNSEEN] * writers, rest_s, random.Random(7), remembers=True)

    assert attempts / (writers * 25) <= 2.2


def test_what_a_process_remembers_saves_attempts() -> None:
    """Writers that rest between changes begin anew each time, in the middle of the crowd."""
    with_memory, without = (_race([UNSEEN] * 16, 0.02, random.Random(7), remembers=each) for each in (True, False))

    assert with_memory < 0.9 * without


def _race(paces: list[Pace], rest_s: float, chance: random.Random, *, remembers: bool) -> int:
    """Let writers commit 25 times each, on the head that they read, and return how many attempts that took."""
    policy, attempt_s = RetryPolicy(attempts_max=1000), 0.010
    left, tries, begun_s = [25] * len(paces), [0] * len(paces), [0.0] * len(paces)
    attempts, landed_s = 0, 0.0
    ends = [(attempt_s * chance.uniform(0.8, 1.2), writer) for writer in range(len(paces))]
    heapq.heapify(ends)
    while ends:
        now_s, writer = heapq.heappop(ends)
        attempts, tries[writer] = attempts + 1, tries[writer] + 1
        seen = paces[writer].measured(tries[writer], tries[writer] * attempt_s)
        if begun_s[writer] >= landed_s:  # Nobody has landed since it read.
            pause_s = chance.uniform(0.0, rest_s)
            paces[writer] = seen.after(tries[writer]) if remembers else UNSEEN
            left[writer], tries[writer], landed_s = left[writer] - 1, 0, now_s
        else:
            pause_s = policy.wait_s(tries[writer], chance, seen)
        begun_s[writer] = now_s + pause_s
        if left[writer]:
            heapq.heappush(ends, (begun_s[writer] + attempt_s * chance.uniform(0.8, 1.2), writer))
    return attempts
