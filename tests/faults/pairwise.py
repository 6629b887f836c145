"""Chooses few cases of a large product so that every pair of values occurs in one of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations, product

Case = tuple[str, ...]


def pairwise(axes: Sequence[Sequence[str]], *, seed: int) -> list[Case]:
    """Return cases with one value of each axis; any two values of two axes are together in at least one case.

    Greedy: each case starts from a pair that is still missing, and takes on the other axes what covers most.
    """
    chance = random.Random(seed)
    missing = {pair for case in _pairs_of_axes(axes) for pair in case}
    cases: list[Case] = []
    while missing:
        (first, one), (second, other) = chance.choice(sorted(missing))
        chosen = {first: one, second: other}
        rest = [axis for axis in range(len(axes)) if axis not in chosen]
        chance.shuffle(rest)
        for axis in rest:
            values = chance.sample(list(axes[axis]), len(axes[axis]))
            taken = dict(chosen)
            chosen[axis] = max(values, key=lambda value: len(missing & _with(taken, axis, value)))
        case = tuple(chosen[axis] for axis in range(len(axes)))
        missing -= pairs(case)
        cases.append(case)
    return cases


def pairs(case: Case) -> set[tuple[tuple[int, str], tuple[int, str]]]:
    """Return the pairs of values that a case holds, each value with the number of its axis."""
    return set(combinations(enumerate(case), 2))


def all_pairs(axes: Sequence[Sequence[str]]) -> set[tuple[tuple[int, str], tuple[int, str]]]:
    """Return every pair of values of two axes."""
    return {pair for pairs_of_two in _pairs_of_axes(axes) for pair in pairs_of_two}


def full(axes: Sequence[Sequence[str]]) -> list[Case]:
    """Return the whole product."""
    return list(product(*axes))


def _pairs_of_axes(axes: Sequence[Sequence[str]]) -> list[set[tuple[tuple[int, str], tuple[int, str]]]]:
    return [
        {((first, one), (second, other)) for one in axes[first] for other in axes[second]}
        for first, second in combinations(range(len(axes)), 2)
    ]


def _with(chosen: dict[int, str], axis: int, value: str) -> set[tuple[tuple[int, str], tuple[int, str]]]:
    new = (axis, value)
    return {(old, new) if old[0] < axis else (new, old) for old in chosen.items()}
