"""`python3 run.py demo`: post a bank's transactions by overlapping runs, and prove the result serial.

Exit codes: 0 the balances equal the serial oracle's and the auditor finds nothing wrong; 1 not so, or a run failed, too
few runs overlapped, or no conflict was met; 2 there is nothing to run on.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from rich.console import Console

from assets.transactions import Transactions, read_transactions
from pipelines.main_job import report
from pipelines.main_job.fleet import Fleet
from pipelines.main_job.place import Place, PlaceError, make_place
from pipelines.main_job.plan import Posting, plan
from pipelines.resources import TRANSACTIONS, BankCatalog
from seriatim.errors import SeriatimError
from seriatim.system import SystemClock

IN_FLIGHT_MIN: Final = 4
_WORKERS: Final = 6


def main(arguments: list[str] | None = None) -> int:
    """Run the main job and return its exit code."""
    options = _parser().parse_args(arguments)
    console = Console(soft_wrap=True, highlight=False)
    try:
        place = make_place(options.home)
        transactions = read_transactions(place.transactions)
    except (PlaceError, SeriatimError) as err:
        console.print(str(err), markup=False)
        return 2
    os.environ.update(place.environment())
    postings = plan(transactions, party=IN_FLIGHT_MIN)
    console.print(_announcement(transactions, postings, options.workers), markup=False)
    problems = _run(console, place, postings, workers=options.workers)
    for problem in problems:
        console.print(problem, markup=False)
    return 1 if problems else 0


def _run(console: Console, place: Place, postings: Sequence[Posting], *, workers: int) -> Sequence[str]:
    """Post, show what was done, and return what is wrong with it; nothing, if all is well."""
    import dagster as dg

    from pipelines.instance import prepare_instance
    from pipelines.main_job.conclude import Done, conclude
    from pipelines.main_job.measure import measure
    from pipelines.main_job.tick import tick_conflict_sensor

    clock = SystemClock()
    prepare_instance(place.dagster_home)
    begun_s = clock.monotonic_s()
    fleet = Fleet(place.home, place.environment(), workers)
    with report.progress(console, len(postings)) as ended:
        runs = list(fleet.run(postings, ended))
    wall_s = clock.monotonic_s() - begun_s
    with dg.DagsterInstance.get() as instance:
        recorded = tick_conflict_sensor(instance)
        measured = measure(instance, [dg.AssetKey(["bank", kind]) for kind in {each.kind for each in postings}])
    done = Done(measured, runs, recorded, wall_s)
    return conclude(console, BankCatalog().load(), place.transactions, done, in_flight_min=IN_FLIGHT_MIN)


def _announcement(transactions: Transactions, postings: Sequence[Posting], workers: int) -> str:
    days = transactions.days()
    return (
        f"{transactions.path.name}: {transactions.table.num_rows:,} transactions of "
        f"{len(transactions.account_ids()):,} accounts, {len(transactions.kinds())} kinds, {days[0]} to {days[-1]}. "
        f"{len(postings)} runs, {workers} at a time."
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run.py demo",
        description="Post a bank's transactions by overlapping Dagster runs and compare the balances with a serial "
        f"model. The transactions are those that {TRANSACTIONS} names, or a generated bank.",
    )
    parser.add_argument("--home", type=Path, help="a new folder for everything; default: .seriatim/demo, made anew")
    parser.add_argument("--workers", type=_workers, default=_WORKERS, help=f"runs at a time, default {_WORKERS}")
    return parser


def _workers(text: str) -> int:
    workers = int(text)
    if workers < IN_FLIGHT_MIN:
        raise argparse.ArgumentTypeError(f"at least {IN_FLIGHT_MIN} runs must overlap, so {workers} are too few")
    return workers


def _end(signum: int, frame: FrameType | None) -> None:
    """End as after an error, so that the runs are told to end as well: they would go on writing otherwise."""
    del frame
    sys.exit(128 + signum)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    sys.exit(main())
