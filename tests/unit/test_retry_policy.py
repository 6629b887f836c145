"""How long a call waits before it tries again: at random, below a ceiling that doubles up to a bound."""

from __future__ import annotations

import random

import pytest

from seriatim import RetryPolicy
from seriatim.commit.pace import Pace


class _Highest(random.Random):
    """Chance that always gives the most."""

    def uniform(self, a: float, b: float) -> float:
        return max(a, b)


def test_the_ceiling_doubles_up_to_the_bound() -> None:
    policy = RetryPolicy(wait_s_first=0.5, wait_s_max=3.0)

    assert [policy.wait_s(attempt, _Highest()) for attempt in range(1, 6)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_a_late_attempt_waits_no_longer_than_the_bound() -> None:
    assert RetryPolicy(wait_s_first=0.5, wait_s_max=3.0).wait_s(10_000, _Highest()) == 3.0


def test_without_a_first_wait_the_ceiling_is_as_long_as_attempts_take() -> None:
    """An attempt takes 0.2 s, and the table has been crowded: the first retry is spread over four attempts' time."""
    pace = Pace(attempt_s=0.2, crowd=4.0)

    assert [RetryPolicy().wait_s(attempt, _Highest(), pace) for attempt in range(1, 5)] == [0.8, 1.6, 2.0, 2.0]
    assert RetryPolicy(wait_s_first=0.5).wait_s(1, _Highest(), pace) == 0.5
    assert RetryPolicy(wait_s_first=0.0).wait_s(1, _Highest(), pace) == 0.0


def test_a_wait_lies_anywhere_below_the_ceiling() -> None:
    policy, chance = RetryPolicy(wait_s_first=1.0, wait_s_max=1.0), random.Random(4)

    waits = [policy.wait_s(1, chance) for _ in range(200)]

    assert 0.0 <= min(waits) < 0.1
    assert 0.9 < max(waits) <= 1.0


@pytest.mark.parametrize(
    ("bounds", "name"),
    [
        ({"attempts_max": 0}, "attempts_max"),
        ({"total_s_max": -1.0}, "total_s_max"),
        ({"wait_s_first": -0.1}, "wait_s_first"),
        ({"wait_s_max": -0.1}, "wait_s_max"),
    ],
)
def test_bounds_that_allow_nothing_are_refused(bounds: dict[str, float], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        RetryPolicy(**bounds)  # type: ignore[arg-type]  # One of them at a time.
