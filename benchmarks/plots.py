"""The report's pictures, as SVG that is the same for the same figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.figures import Series, Spread
from benchmarks.results import Results

_BARS: Final = {"one_commit": "ms", "contention": "commits/s", "disjoint": "commits/s"}
_CURVES: Final = {"history": "ms"}
_OURS: Final = ("commit_with_retry", "apply", "8 processes")


def draw(results: Results, folder: Path) -> dict[str, str]:
    """Draw what can be drawn, and return the names of the files by those of the benchmarks."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for outcome in results.outcomes:
        metric = _BARS.get(outcome.name) or _CURVES.get(outcome.name)
        series = [each for each in outcome.found.series if each.key.metric == metric]
        if series:
            drawn[outcome.name] = f"{outcome.name.replace('_', '-')}.svg"
            _draw(folder / drawn[outcome.name], series, is_curve=outcome.name in _CURVES)
    return drawn


def _draw(path: Path, series: Sequence[Series], *, is_curve: bool) -> None:
    with mpl.rc_context({"svg.hashsalt": "seriatim", "svg.fonttype": "none", "font.size": 9}):
        height = 4.0 if is_curve else 0.8 + 0.26 * len(series)
        picture = Figure(figsize=(8, height), layout="constrained")
        axes = picture.subplots()
        (_curves if is_curve else _bars)(axes, series)
        picture.savefig(path, metadata={"Date": None, "Creator": None})


def _bars(axes: Axes, series: Sequence[Series]) -> None:
    ordered = sorted(series, key=lambda each: -each.median)
    spreads = [Spread.of(each.values) for each in ordered]
    reach = [
        [max(0.0, each.median - each.low) for each in spreads],
        [max(0.0, each.high - each.median) for each in spreads],
    ]
    colours = ["C0" if each.key.name.startswith(_OURS) else "0.7" for each in ordered]
    names = [str(each.key) for each in ordered]
    axes.barh(names, [each.median for each in spreads], xerr=reach, color=colours, ecolor="0.3")
    axes.set_xlabel(f"{ordered[0].key.metric}: median, quartiles")
    axes.grid(axis="x", alpha=0.3)


def _curves(axes: Axes, series: Sequence[Series]) -> None:
    for name in dict.fromkeys(each.key.name for each in series):
        points = [each for each in series if each.key.name == name and each.key.at is not None]
        axes.plot([each.key.at or 0 for each in points], [each.median for each in points], marker="o", label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    places = sorted({each.key.at for each in series if each.key.at is not None})
    axes.set_xticks(places, [f"{place:,}" for place in places])
    axes.minorticks_off()
    axes.set_xlabel("earlier commits")
    axes.set_ylabel(f"{series[0].key.metric}, median")
    axes.grid(alpha=0.3)
    axes.legend()
