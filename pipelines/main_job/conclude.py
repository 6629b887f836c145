"""The end of the main job: what was done, and what is wrong with it, by the serial model and by the auditor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyiceberg.catalog import Catalog
from rich.console import Console

from assets.account_table import ACCOUNT_TABLE
from assets.tables import INVARIANTS
from oracle.errors import OracleError
from pipelines.main_job import report
from pipelines.main_job.fleet import Finished
from pipelines.main_job.judge import judge
from pipelines.main_job.measure import Measured, Mirrored
from seriatim.audit import Verdict, audit


@dataclass(frozen=True, slots=True)
class Done:
    """What the runs did."""

    measured: Measured
    mirrored: Mirrored
    runs: Sequence[Finished]
    recorded: int  # conflicts in bank.conflicts
    wall_s: float


def conclude(
    console: Console, catalog: Catalog, transactions_file: Path, delta: Path, done: Done, *, in_flight_min: int
) -> Sequence[str]:
    """Show what was done, and return what is wrong with it; nothing, if all is well."""
    verdicts = audited(catalog)
    problems = [
        *report.not_clean(verdicts),
        *report.not_overlapping(done.measured, done.runs, in_flight_min=in_flight_min),
    ]
    try:
        judgement = judge(catalog, ACCOUNT_TABLE, transactions_file, delta)
    except OracleError as err:
        return [f"NOT serial: {err}", *problems]
    console.print(report.figures(done.measured, done.mirrored, judgement, recorded=done.recorded, wall_s=done.wall_s))
    if judgement.cross_check:
        console.print(report.cross_check_line(judgement.cross_check), markup=False)
    if judgement.is_serial:
        console.print(report.serial_line(judgement), markup=False)
    console.print(report.audit_line(verdicts), markup=False)
    return [*report.not_serial(judgement), *problems]


def audited(catalog: Catalog) -> tuple[Verdict, ...]:
    """Let the auditor judge the tables that the main job wrote, by their own snapshots and rows."""
    return tuple(
        audit(catalog, identifier, invariants)
        for identifier, invariants in INVARIANTS.items()
        if catalog.table_exists(identifier)
    )
