"""A set of whole numbers as intervals behaves like a set, and is as small as it can be."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from seriatim.commit.intervals import Intervals

NUMBERS = st.sets(st.integers(-40, 40))


@given(NUMBERS, NUMBERS)
def test_it_is_a_set(some: set[int], others: set[int]) -> None:
    """Membership, size and union are those of Python's own sets."""
    both = Intervals.of(some) | Intervals.of(others)

    assert [number for number in range(-45, 45) if number in both] == sorted(some | others)
    assert len(both) == len(some | others)
    assert both == Intervals.of(some | others)


@given(NUMBERS)
def test_its_intervals_are_as_few_as_possible(numbers: set[int]) -> None:
    """One for each run of consecutive numbers, in order."""
    pairs = Intervals.of(numbers).pairs

    assert len(pairs) == sum(number - 1 not in numbers for number in numbers)
    assert list(pairs) == sorted(pairs)


def test_ten_years_of_days_in_any_order_are_one_interval() -> None:
    """On the way there are many, in the end there is one."""
    days = list(range(3_650))
    random.Random(1).shuffle(days)

    some = Intervals()
    for start in range(0, len(days), 50):
        some |= Intervals.of(days[start : start + 50])

    assert some.pairs == ((0, 3_649),)
