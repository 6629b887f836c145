"""What a person sees of the main job: progress, then a table, then the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from pipelines.main_job.fleet import Finished
from pipelines.main_job.judge import CrossCheck, Judgement
from pipelines.main_job.measure import Measured, Mirrored
from seriatim.audit import Verdict

_SHOWN_MAX: Final = 20


@contextmanager
def progress(console: Console, total: int) -> Iterator[Callable[[Finished], None]]:
    """Give a function to call as each run ends: it moves a bar in a terminal, and prints a plain line elsewhere."""
    if not console.is_terminal:
        count = iter(range(1, total + 1))
        yield lambda run: console.print(f"[{next(count)}/{total}] {_line(run)}", markup=False, highlight=False)
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("the first runs are starting", total=total)

        def ended_one(run: Finished) -> None:
            bar.update(task, advance=1, description=_line(run))
            if run.exit_code:
                bar.console.print(_line(run), markup=False)

        yield ended_one


def figures(measured: Measured, mirrored: Mirrored, judgement: Judgement, *, recorded: int, wall_s: float) -> Table:
    """Return what was done and what it took."""
    table = Table(title="Overlapping runs", show_header=False, title_justify="left")
    for name, value in (
        ("runs", f"{measured.runs:,}" + (f", {measured.runs_failed} failed" if measured.runs_failed else "")),
        ("peak runs in flight", f"{measured.in_flight_peak}"),
        ("Delta versions", f"{judgement.versions:,}, mirrored by {mirrored.runs} runs in {mirrored.commits} commits"),
        ("conflicts of the mirror", f"{mirrored.conflicts:,}"),
        ("postings (one kind, some versions)", f"{judgement.operations:,}"),
        ("commits", f"{measured.commits:,}"),
        ("conflicts met", f"{measured.conflicts:,}"),
        ("conflicts in bank.conflicts", f"{recorded:,}"),
        ("attempts per commit", f"{measured.attempts_per_commit:.2f}"),
        ("time lost to conflicts", f"{measured.wasted_ms / 1000:.1f} s, summed over the runs"),
        ("wall time", f"{wall_s:.1f} s"),
    ):
        table.add_row(name, value)
    return table


def cross_check_line(check: CrossCheck) -> str:
    """Say how the balances compare with those that the bank recorded, and why they differ where they do."""
    return (
        f"Cross-check: {check.equal:,} of {check.accounts:,} accounts end at the recorded_balance, the others at "
        f"most {_money(check.difference_max_minor)} away: the bank rounded interest in its running balance otherwise "
        f"than in the amounts. Never the oracle."
    )


def serial_line(judgement: Judgement) -> str:
    """Say that the table equals the serial model."""
    return f"Serial: all {judgement.verdict.accounts:,} balances equal the serial oracle's, cent for cent."


def not_serial(judgement: Judgement) -> Iterator[str]:
    """Name the accounts and the operations in which the table differs from the serial model, if it does."""
    verdict = judgement.verdict
    differing = len(verdict.differing) + len(verdict.missing) + len(verdict.extra)
    if differing:
        yield f"NOT serial: {differing:,} of {verdict.accounts:,} accounts differ from the serial oracle."
    for each in verdict.differing[:_SHOWN_MAX]:
        yield (
            f"  account {each.account_id}: {_money(each.actual_minor)} in the table, "
            f"{_money(each.expected_minor)} expected"
        )
    for name, ids in (("missing from the table", verdict.missing), ("only in the table", verdict.extra)):
        if ids:
            yield f"  {name}: accounts {', '.join(map(str, ids[:_SHOWN_MAX]))}"
    for unposted in judgement.never_posted[:_SHOWN_MAX]:
        yield f"Never posted: {unposted.kind} of Delta version {unposted.version}."
    if judgement.lost_on_the_way:
        lost = ", ".join(map(str, judgement.lost_on_the_way[:_SHOWN_MAX]))
        yield f"Not in the Delta table as in the file: transactions {lost}."


def audit_line(verdicts: Sequence[Verdict]) -> str:
    """Say what the auditor looked at, and how much it found."""
    commits = sum(len(verdict.commits) for verdict in verdicts)
    anomalies = sum(len(verdict.anomalies) + verdict.anomalies_left_out for verdict in verdicts)
    *others, last = [each.table for each in verdicts]
    tables = f"{', '.join(others)} and {last}" if others else last
    return f"Audit: {commits:,} commits of {tables}, {anomalies:,} anomalies."


def not_clean(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Name what the auditor found, and what it could not judge, which it should: everything here was written by us."""
    for verdict in verdicts:
        for anomaly in verdict.anomalies[:_SHOWN_MAX]:
            yield f"NOT clean: {verdict.table}: {anomaly.kind.value}: {anomaly.what}."
        for unjudged in verdict.unjudged[:_SHOWN_MAX]:
            yield f"NOT judged: {verdict.table}: {unjudged.why}."


def not_overlapping(measured: Measured, runs: Sequence[Finished], *, in_flight_min: int) -> Iterator[str]:
    """Say which runs failed, and whether what was to be shown has happened at all."""
    yield from (_line(run) for run in runs if run.exit_code)
    if measured.in_flight_peak < in_flight_min:
        yield f"At most {measured.in_flight_peak} runs were in flight at once, fewer than {in_flight_min}."
    if not measured.conflicts:
        yield "No run met a conflict, so refresh-and-reapply was not seen."


def _money(minor: int) -> str:
    return f"{Decimal(minor).scaleb(-2):,.2f}"


def _line(run: Finished) -> str:
    return run.run.label if run.exit_code == 0 else f"{run.run.label} FAILED, exit code {run.exit_code}: {run.log}"
