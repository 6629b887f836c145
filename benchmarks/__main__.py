"""`python3 run.py bench [NAME ...]`: measure, say which targets are met, compare, report.

Exit codes: 0 measured; 1 a result was wrong, a benchmark failed, or a target has regressed; 2 wrong use.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks import machine
from benchmarks.benchmark import Setting, WrongUseError
from benchmarks.block_groups import spread
from benchmarks.comparison import BASELINE, Trend, compare, differences, load_baseline, save_baseline
from benchmarks.registry import BENCHMARKS, by_default
from benchmarks.results import Outcome, Results, load, merged
from seriatim.system import SystemClock, new_random

_ROOT: Final = Path(__file__).resolve().parents[1]
_KEPT: Final = _ROOT / ".seriatim" / "bench"
_DOCUMENT: Final = _ROOT / "docs" / "performance.md"
_PLOTS: Final = _ROOT / "docs" / "plots"
_SEEDS: Final = 1_000_000


def main(arguments: Sequence[str]) -> int:
    """Measure, or take what was measured, and do with it what is asked for."""
    options = _parser().parse_args(arguments)
    if unknown := [name for name in options.names if name not in BENCHMARKS]:
        print(f"no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    try:
        results = merged(load(path) for path in options.taken) if options.taken else _measured(options)
        return _concluded(results, options)
    except WrongUseError as err:
        print(err, file=sys.stderr)
        return 2


def _measured(options: argparse.Namespace) -> Results:
    """Run the benchmarks one after another, and keep what they found."""
    seed = options.seed if options.seed is not None else new_random().randrange(_SEEDS)
    _KEPT.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="place-", dir=options.place or _KEPT))
    path = _KEPT / f"{_now():%Y%m%d-%H%M%S}.json"
    results = Results(machine.describe(place), seed, options.quick, ())
    try:
        for outcome in _outcomes(options.names or by_default(), place, options, seed):
            results = replace(results, outcomes=(*results.outcomes, outcome))
            results.save(path)  # What was found is kept, though a later one may fail.
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(f"\nAgain in the same order: --seed {seed}. Kept: {path.relative_to(_ROOT)}")
    return results


def _outcomes(names: Sequence[str], place: Path, options: argparse.Namespace, seed: int) -> Iterator[Outcome]:
    clock = SystemClock()
    for name in names:
        folder = place / name
        folder.mkdir()
        spread(folder)
        setting = Setting(folder, seed, options.quick, options.long, options.profile, say=_say)
        _say(f"{name}: {BENCHMARKS[name].title} ...")
        begun_at, load_before, begun_s = _now(), machine.load_average(), clock.monotonic_s()
        found = BENCHMARKS[name].run(setting)
        took_s = clock.monotonic_s() - begun_s
        _say(f"    {took_s:.0f} s")
        yield Outcome(name, found, f"{begun_at:%Y-%m-%d %H:%M} UTC", load_before, machine.load_average(), took_s)
        shutil.rmtree(folder, ignore_errors=True)


def _concluded(results: Results, options: argparse.Namespace) -> int:
    """Print what was found, do what was asked for, and return the exit code."""
    from benchmarks.plots import draw
    from benchmarks.report import generated, table_of_comparison, table_of_series, verdicts_of, write_report

    verdicts = verdicts_of(results, BENCHMARKS)
    for outcome in results.outcomes:
        print(f"\n{outcome.name}\n", *table_of_series(outcome.found.series), *outcome.found.notes, sep="\n")
    print()
    for verdict in verdicts:
        target, beside = verdict.target, f" ({verdict.beside})" if verdict.beside else ""
        measured = "-" if verdict.measured is None else f"{verdict.measured.median:.4g}"
        print(f"{target.code:5}{verdict.word:13}{measured:>9}  {target.wanted:10}{target.what}{beside}")
    if options.report:
        pictures = {name: f"{_PLOTS.name}/{file}" for name, file in draw(results, _PLOTS).items()}
        write_report(_DOCUMENT, generated(results, BENCHMARKS, pictures))
    compared = compare(verdicts, load_baseline(BASELINE)) if options.compare else ()
    if options.compare:
        print(f"\nAgainst {BASELINE.name}\n", *differences(results.machine, BASELINE), sep="\n")
        print("", *table_of_comparison(compared), sep="\n")
    if options.save_baseline:
        if results.is_quick:
            raise WrongUseError("a smoke test is no baseline; measure without --quick")
        save_baseline(verdicts, results.machine, BASELINE)
    return int(any(each.trend is Trend.WORSE for each in compared))


def _newest(text: str) -> Path:
    if text != "newest":
        return Path(text)
    kept = sorted(_KEPT.glob("*.json"))
    if not kept:
        raise argparse.ArgumentTypeError("nothing has been measured in this checkout yet")
    return kept[-1]


def _now() -> datetime:
    return datetime.fromtimestamp(SystemClock().now_ms() / 1000, UTC)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run.py bench",
        description="Measure the library beside its peers and a floor, in interleaved rounds of one run.",
        epilog=f"Benchmarks: {', '.join(BENCHMARKS)}; without a name: {', '.join(by_default())}.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which benchmarks to run")
    parser.add_argument("--quick", action="store_true", help="a smoke test, whose figures are of no worth")
    parser.add_argument("--long", action="store_true", help="the mirror's backlog of 10,000 versions, too")
    parser.add_argument("--profile", action="store_true", help="the main job under py-spy")
    parser.add_argument("--seed", type=int, help="of the order within the rounds; printed when it is not given")
    parser.add_argument("--place", type=Path, help="a folder for the tables, on the disk to measure; default .seriatim")
    parser.add_argument(
        "--from",
        dest="taken",
        type=_newest,
        nargs="+",
        metavar="FILE",
        help="measure nothing: take the results from these files, or from the `newest` one",
    )
    parser.add_argument("--compare", action="store_true", help="show each target beside the stored baseline")
    parser.add_argument("--save-baseline", action="store_true", help="store the figures of the targets as the baseline")
    parser.add_argument("--report", action="store_true", help="write docs/performance.md and its plots")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
