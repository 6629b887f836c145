"""The bank in the pictures: overlapping runs post it with conflicts, and somebody writes past them at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

import dagster as dg
import pyarrow as pa
from pyiceberg.expressions import EqualTo

from assets.account_table import ACCOUNT_TABLE
from assets.kinds import KINDS
from assets.transactions import read_transactions
from pipelines.definitions import defs
from pipelines.generated_bank import generate_bank, write_bank
from pipelines.instance import prepare_instance
from pipelines.landing import arrivals, land
from pipelines.main_job.fleet import Finished, Fleet
from pipelines.main_job.place import Place
from pipelines.main_job.plan import Run
from pipelines.main_job.tick import tick_conflict_sensor
from pipelines.resources import SEED, BankCatalog

_FIRST_DAY: Final = date(1993, 1, 1)
_DAYS: Final = 12
# Each group posts every step at once, so that all of a group but one lose and compute again.
_GROUPS: Final = (("cash_deposit", "cash_withdrawal"), ("cash_deposit", "household", "standing_order"))
_STEPS: Final = 6
_SAID_MAX: Final = 4_000  # characters of a failed run's output
_OTHERS: Final = tuple(kind.name for kind in KINDS if not any(kind.name in group for group in _GROUPS))


class PostingFailedError(Exception):
    """A run of the bank failed, so that there is nothing to take a picture of; the end of its output says why."""

    def __init__(self, finished: Finished) -> None:
        output = finished.log.read_text(encoding="utf-8", errors="replace")
        super().__init__(f"{finished.run.label} ended with {finished.exit_code}: {output[-_SAID_MAX:]}")
        self.run, self.exit_code = finished.run, finished.exit_code


class NoConflictError(Exception):
    """Runs overlapped, and an asset always landed first; make the bank once more."""

    def __init__(self, key: dg.AssetKey) -> None:
        super().__init__(f"{key.to_user_string()} never lost to another run; make the pictures once more")
        self.key = key


@dataclass(frozen=True, slots=True)
class Bank:
    """The bank under `place.home`, whose environment is this process's."""

    place: Place

    def prepare(self) -> None:
        """Make the instance, and let all transactions arrive."""
        prepare_instance(self.place.dagster_home)
        table = generate_bank(SEED, _FIRST_DAY, days=_DAYS, accounts=20, transactions=900)
        write_bank(self.place.transactions, table)
        land(arrivals(read_transactions(self.place.transactions), seed=SEED), self.place.delta)

    def post(self) -> None:
        """Mirror and post by overlapping runs in processes of their own, and record their conflicts.

        Raises:
            PostingFailedError: a run failed.
        """
        everything = Run("mirror", ("bank/transactions", "bank/accounts"), {})
        self._launch([everything])
        for step in range(_STEPS):
            upto = (step + 1) * _DAYS // _STEPS - 1
            kinds = _GROUPS[step % len(_GROUPS)]
            party = f"step-{step}"
            self._launch([Run(f"{kind} up to {upto}", (f"bank/{kind}",), {"upto": upto}, party) for kind in kinds])
            with self.instance() as instance:
                tick_conflict_sensor(instance)
        self._launch([Run("the other kinds", tuple(f"bank/{kind}" for kind in _OTHERS), {})])

    def check(self) -> Sequence[dg.AssetCheckEvaluation]:
        """Run every check that the code location has, in one run; return what they found."""
        everything = [*(defs.assets or []), *(defs.asset_checks or [])]
        with self.instance() as instance:
            result = dg.materialize(
                everything,  # type: ignore[arg-type]  # Whatever Definitions accept, it accepts.
                selection=dg.AssetSelection.all_asset_checks(),
                instance=instance,
                resources=defs.resources,
                run_config={"loggers": {"console": {"config": {"log_level": "ERROR"}}}},
            )
        return result.get_asset_check_evaluations()

    def write_past_it(self) -> None:
        """Set a balance back to what it was, by plain PyIceberg, as a job does that has read before others wrote."""
        table = BankCatalog().load().load_table(ACCOUNT_TABLE)
        row = table.scan(row_filter=EqualTo("id", 7)).to_arrow().to_pylist()[0]
        stale = pa.Table.from_pylist([{**row, "bal": row["bal"] - 500_00}], schema=table.schema().as_arrow())
        table.overwrite(stale, EqualTo("id", 7))

    def lost_at_ms(self, key: dg.AssetKey) -> int:
        """Return when the last materialization of an asset was that had lost to another run before it landed.

        Raises:
            NoConflictError: none had.
        """
        with self.instance() as instance:
            for record in instance.fetch_materializations(key, limit=_STEPS).records:
                event = record.asset_materialization
                if event is not None and event.metadata["conflicts"].value:
                    return int(record.timestamp * 1000)
        raise NoConflictError(key)

    @contextmanager
    def instance(self) -> Iterator[dg.DagsterInstance]:
        """Open the instance."""
        with dg.DagsterInstance.from_config(str(self.place.dagster_home)) as instance:
            yield instance

    def _launch(self, runs: Sequence[Run]) -> None:
        fleet = Fleet(self.place.home, self.place.environment(), workers=len(runs))
        for finished in fleet.run(runs, _unheard):
            if finished.exit_code:
                raise PostingFailedError(finished)


def _unheard(finished: Finished) -> None:
    """Be told that a run has ended, where nobody looks on."""
    del finished


def bank_under(home: Path) -> Bank:
    """Return the bank of a fresh folder; nothing is made yet."""
    return Bank(Place(home, home / "bank.parquet"))
