"""`python3 run.py demo`: mirror a bank's transactions from Delta, post them by overlapping runs, prove it serial.

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

import pyarrow as pa
from rich.console import Console

from assets.transactions import Transactions, read_transactions
from pipelines.landing import arrivals
from pipelines.main_job import report
from pipelines.main_job.fleet import Finished, Fleet
from pipelines.main_job.place import Place, PlaceError, make_place
from pipelines.main_job.plan import Run, last_mirror_run, mirror_runs, posting_runs
from pipelines.main_job.upstream import Upstream
from pipelines.resources import SEED, TRANSACTIONS, BankCatalog
from seriatim.errors import SeriatimError
from seriatim.system import SystemClock

IN_FLIGHT_MIN: Final = 4
_WORKERS: Final = 6
_MIRROR_RUNS: Final = 3  # at once, and one after them


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
    parts = arrivals(transactions, seed=SEED)
    postings = posting_runs(parts, party=IN_FLIGHT_MIN)
    console.print(_announcement(transactions, parts, postings, options.workers), markup=False)
    problems = _run(console, place, Upstream(place.delta, parts), postings, workers=options.workers)
    for problem in problems:
        console.print(problem, markup=False)
    return 1 if problems else 0


def _run(console: Console, place: Place, upstream: Upstream, postings: Sequence[Run], *, workers: int) -> Sequence[str]:
    """Mirror and post, show what was done, and return what is wrong with it; nothing, if all is well."""
    import dagster as dg

    from assets.transactions_table import TRANSACTIONS_KEY
    from pipelines.instance import prepare_instance
    from pipelines.main_job.conclude import Done, conclude
    from pipelines.main_job.measure import measure, measure_mirror
    from pipelines.main_job.tick import tick_conflict_sensor

    clock = SystemClock()
    prepare_instance(place.dagster_home)
    begun_s = clock.monotonic_s()
    runs = _mirror_and_post(console, Fleet(place.home, place.environment(), workers), upstream, postings)
    wall_s = clock.monotonic_s() - begun_s
    with dg.DagsterInstance.get() as instance:
        recorded = tick_conflict_sensor(instance)
        measured = measure(instance, [dg.AssetKey(key.split("/")) for key in {each.assets[0] for each in postings}])
        mirrored = measure_mirror(instance, TRANSACTIONS_KEY)
    done = Done(measured, mirrored, runs, recorded, wall_s)
    return conclude(console, BankCatalog().load(), place.transactions, place.delta, done, in_flight_min=IN_FLIGHT_MIN)


def _mirror_and_post(console: Console, fleet: Fleet, upstream: Upstream, postings: Sequence[Run]) -> Sequence[Finished]:
    """Mirror by runs that race each other and the upstream job, then post; end early when the mirror has failed."""
    racing, last = mirror_runs(_MIRROR_RUNS), last_mirror_run()
    meeting = fleet.meeting_of("mirror")
    with report.progress(console, len(racing) + 1 + len(postings)) as ended:
        upstream.land_half()
        with upstream.landing_the_rest(meeting, parties=len(racing) + 1):
            runs = list(fleet.run(racing, ended, guests=1))
        runs += fleet.run([last], ended)
        if any(run.exit_code for run in runs):
            return runs
        return [*runs, *fleet.run(postings, ended)]


def _announcement(transactions: Transactions, parts: Sequence[pa.Table], postings: Sequence[Run], workers: int) -> str:
    days = transactions.days()
    return (
        f"{Path(transactions.place).name}: {transactions.table.num_rows:,} transactions of "
        f"{len(transactions.account_ids()):,} accounts, {len(transactions.kinds())} kinds, {days[0]} to {days[-1]}, "
        f"landed in {len(parts)} versions of a Delta table. {_MIRROR_RUNS + 1} runs mirror it, {len(postings)} post, "
        f"{workers} at a time."
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run.py demo",
        description="Mirror a bank's transactions from Delta Lake, post them by overlapping Dagster runs and compare "
        "the balances with a serial "
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
