"""The report: what was measured, as Markdown, between two marks of a document whose other words stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.benchmark import Benchmark, WrongUseError
from benchmarks.comparison import Compared
from benchmarks.figures import Key, Series, Spread
from benchmarks.results import Outcome, Results
from benchmarks.target import Verdict, judge

BEGIN: Final = "<!-- made by run.py bench --report: begin -->"
END: Final = "<!-- made by run.py bench --report: end -->"


def write_report(document: Path, generated: str) -> None:
    """Replace what stands between the marks.

    Raises:
        WrongUseError: the document does not have each mark once, in their order.
    """
    text = document.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after or END in before + after:
        raise WrongUseError(
            f"{document}: the report stands between `{BEGIN}` and `{END}`, each once; nothing was written"
        )
    document.write_text(f"{before}{BEGIN}\n\n{generated.strip()}\n\n{END}{after}", encoding="utf-8")


def generated(results: Results, benchmarks: Mapping[str, Benchmark], pictures: Mapping[str, str]) -> str:
    """Return all of it: machine, targets, and each benchmark with its picture, if there is one by its name."""
    return "\n".join(_lines(results, benchmarks, pictures))


def verdicts_of(results: Results, benchmarks: Mapping[str, Benchmark]) -> tuple[Verdict, ...]:
    """Judge every target of what was run."""
    return tuple(
        verdict
        for outcome in results.outcomes
        for verdict in judge(benchmarks[outcome.name].targets, outcome.found.series)
    )


def table_of_targets(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Say of each target whether it is met."""
    yield "| | what | measured (quartiles) | wanted | |"
    yield "| --- | --- | --- | --- | --- |"
    for each in verdicts:
        target, measured = each.target, _spread(each.measured)
        beside = f" ({each.beside})" if each.beside else ""
        yield f"| {target.code} | {target.what}{beside} | {measured} | {target.wanted} | {each.word} |"


def table_of_comparison(compared: Iterable[Compared]) -> Iterator[str]:
    """Say of each target what became of it since the baseline."""
    yield "| | what | baseline | now | |"
    yield "| --- | --- | --- | --- | --- |"
    for each in compared:
        target, before, now = each.target, _spread(each.before), _spread(each.now)
        yield f"| {target.code} | {target.what} | {before} | {now} | {each.trend.value} |"


def table_of_series(series: Sequence[Series]) -> Iterator[str]:
    """Show every figure: a row for each name, a column for each metric."""
    metrics = list(dict.fromkeys(each.key.metric for each in series))
    timed = [metric for metric in metrics if any(each.cpu for each in series if each.key.metric == metric)]
    columns = [column for metric in metrics for column in (metric, *((f"CPU {metric}",) if metric in timed else ()))]
    yield f"| | {' | '.join(columns)} |"
    yield "| --- |" + " --- |" * len(columns)
    found = {each.key: each for each in series}
    for name, at in dict.fromkeys((each.key.name, each.key.at) for each in series):
        cells = []
        for metric in metrics:
            one = found.get(Key(name, metric, at))
            cells.append(_spread(Spread.of(one.values)) if one else "")
            if metric in timed:
                cells.append(_spread(Spread.of(one.cpu)) if one and one.cpu else "")
        yield f"| {Key(name, '', at)} | {' | '.join(cells)} |"


def number(value: float) -> str:
    """Return three digits that count, or all of a whole number."""
    if value == round(value) or abs(value) >= 100:  # From here on, three digits are whole numbers.
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _lines(results: Results, benchmarks: Mapping[str, Benchmark], pictures: Mapping[str, str]) -> Iterator[str]:
    yield "## Where"
    yield ""
    yield "; ".join(f"{name} {value}" for name, value in results.machine.items()) + f"; seed {results.seed}."
    if results.is_quick:
        yield ""
        yield "**A smoke test: as few rounds as will do. These figures are of no worth.**"
    yield ""
    yield "## Targets"
    yield ""
    yield "A ratio is that of the medians; behind it stand the quartiles of the ratios round by round."
    yield ""
    yield from table_of_targets(verdicts_of(results, benchmarks))
    for outcome in results.outcomes:
        yield from _section(outcome, benchmarks[outcome.name], pictures.get(outcome.name))


def _section(outcome: Outcome, benchmark: Benchmark, picture: str | None) -> Iterator[str]:
    yield ""
    yield f"## {benchmark.title}"
    yield ""
    yield (
        f"`{outcome.name}`, {outcome.begun_at}, {outcome.took_s:.0f} s; load average "
        f"{outcome.load_before:.1f} before, {outcome.load_after:.1f} after (the benchmark's own work included)."
    )
    yield ""
    yield from (f"- {note}" for note in outcome.found.notes)
    yield ""
    yield from table_of_series(outcome.found.series)
    if picture:
        yield ""
        yield f"![{benchmark.title}]({picture})"


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return "-"
    if spread.low == spread.high:
        return number(spread.median)
    return f"{number(spread.median)} ({number(spread.low)} to {number(spread.high)})"
