"""The arithmetic of the benchmarks: spreads, ratios, slopes, verdicts, and what is a regression."""

from __future__ import annotations

import math
import random
from functools import partial
from pathlib import Path

import pytest

from benchmarks.comparison import Trend, compare, load_baseline, save_baseline
from benchmarks.figures import Key, Series, Spread, percentile, ratio, slope
from benchmarks.rounds import Task, interleaved
from benchmarks.target import Side, Target, Verdict, judge
from tests.unit.bench_support import FLOOR, OURS, PEER, TARGETS, series


def test_a_spread_is_the_median_between_the_quartiles() -> None:
    assert Spread.of([5, 1, 4, 2, 3]) == Spread(2, 3, 4)
    assert Spread.of([7]) == Spread(7, 7, 7)


def test_a_ratio_is_that_of_the_medians_and_its_spread_that_of_the_rounds() -> None:
    """What disturbs a round disturbs both sides of it, so that the pairs say more than the two spreads."""
    ours, peer = series(OURS, 2, 20, 3), series(PEER, 4, 40, 6)

    assert ratio(ours, peer) == Spread(0.5, 0.5, 0.5)


def test_a_ratio_to_fewer_rounds_is_taken_to_their_median() -> None:
    assert ratio(series(OURS, 2, 4, 6), series(PEER, 2)) == Spread(1.5, 2, 2.5)


def test_a_ratio_of_nothing_to_nothing_is_one() -> None:
    assert ratio(series(OURS, 0), series(PEER, 0)).median == 1
    assert ratio(series(OURS, 1), series(PEER, 0)).median == math.inf


def test_a_slope_is_the_growth_for_each_step() -> None:
    first, last = Series(Key("ours", "ms", 20), (10, 20)), Series(Key("ours", "ms", 120), (12, 30))

    assert slope(first, last) == (0.02, 0.1)


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.95, 95), (1.0, 100), (0.0, 1)])
def test_a_percentile_is_a_value_that_was_measured(share: float, value: int) -> None:
    values = list(range(1, 101))
    random.Random(1).shuffle(values)

    assert percentile(values, share) == value


def test_each_target_is_judged_by_the_median() -> None:
    measured = (series(OURS, 19, 20, 21), series(PEER, 20, 20, 20), series(FLOOR, 7, 7, 7))

    assert [(each.target.code, each.is_met) for each in judge(TARGETS, measured)] == [
        ("T1", True),  # exactly at the bound
        ("T2", False),
        ("T3", None),
    ]


def test_what_has_no_peer_is_not_met() -> None:
    """A benchmark without the library that it is compared with proves nothing."""
    (verdict,) = judge(TARGETS[:1], (series(OURS, 1),))

    assert verdict.measured is None
    assert verdict.word == "not measured"


@pytest.mark.parametrize(("side", "best", "ms"), [(Side.AT_LEAST, FLOOR, 4.0), (Side.AT_MOST, PEER, 2.0)])
def test_a_ratio_to_several_is_that_to_the_best_of_them(side: Side, best: Key, ms: float) -> None:
    """Of rates the highest, of times the lowest: that is what is hardest to hold against."""
    target = Target("T", OURS, side, 1.0, (PEER, FLOOR))

    (verdict,) = judge([target], (series(OURS, 8), series(PEER, 2), series(FLOOR, 4)))

    assert verdict.measured is not None
    assert (verdict.measured.median, verdict.beside) == (8 / ms, best)


def _trend(before: Spread, now: Spread, side: Side, path: Path) -> Trend:
    target = Target("T", OURS, side, 1.0)
    save_baseline([Verdict(target, before)], {}, path)
    (compared,) = compare([Verdict(target, now)], load_baseline(path))
    return compared.trend


@pytest.mark.parametrize(
    ("now", "low_is_good", "high_is_good"),
    [
        (Spread(90, 100, 110), Trend.SAME, Trend.SAME),
        (Spread(112, 120, 130), Trend.SAME, Trend.SAME),  # above the quartiles, but not by more than the noise
        (Spread(116, 120, 130), Trend.WORSE, Trend.BETTER),
        (Spread(70, 80, 88), Trend.SAME, Trend.SAME),
        (Spread(70, 80, 84), Trend.BETTER, Trend.WORSE),
    ],
)
def test_a_regression_is_beyond_both_spreads_on_the_bad_side(
    now: Spread, low_is_good: Trend, high_is_good: Trend, tmp_path: Path
) -> None:
    before = Spread(90, 100, 110)

    assert _trend(before, now, Side.AT_MOST, tmp_path / "a.json") is low_is_good
    assert _trend(before, now, Side.AT_LEAST, tmp_path / "b.json") is high_is_good


def test_a_baseline_keeps_what_was_not_measured_again(tmp_path: Path) -> None:
    """Else a run of one benchmark would make the others' regressions go unseen."""
    path, spread = tmp_path / "baseline.json", Spread(1, 2, 3)
    save_baseline([Verdict(TARGETS[0], spread), Verdict(TARGETS[1], spread)], {}, path)
    save_baseline([Verdict(TARGETS[0], Spread(4, 5, 6)), Verdict(TARGETS[1], None)], {}, path)

    assert sorted(load_baseline(path).values(), key=lambda each: each.low) == [spread, Spread(4, 5, 6)]


def test_a_target_that_is_new_is_no_regression() -> None:
    (compared,) = compare([Verdict(TARGETS[0], Spread(1, 1, 1))], {})

    assert compared.trend is Trend.NEW


def test_rounds_are_interleaved_shuffled_and_warmed_up() -> None:
    """Each task once in each round; what warms up is run and not counted."""
    ran: list[str] = []
    keys = [Key(name, "ms") for name in "abcd"]
    tasks = [Task(key, partial(ran.append, key.name), prepare=partial(ran.append, "-")) for key in keys]

    found = interleaved(tasks, rounds=5, warmup=1, chance=random.Random(1))

    assert [each.key for each in found] == keys
    assert [len(each.values) for each in found] == [len(each.cpu) for each in found] == [5] * 4
    assert ran[::2] == ["-"] * 24
    rounds = ["".join(ran[1::2][start : start + 4]) for start in range(0, 24, 4)]
    assert {"".join(sorted(each)) for each in rounds} == {"abcd"}
    assert len(set(rounds)) > 1
