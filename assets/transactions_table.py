"""The bank's transactions as a table: the Delta table in which they arrive, and the Iceberg table that mirrors it."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
from pathlib import Path
from typing import Final

import dagster as dg
from pydantic import Field

from assets.account_table import POLICY
from assets.rendezvous import Rendezvous
from seriatim.dagster import IcebergCatalog
from seriatim.dagster.delta_source import DeltaSource

GROUP: Final = "bank"
OWNER: Final = "team:bank"
SOURCE_KEY: Final = dg.AssetKey(["delta", "bank_transactions"])
TRANSACTIONS_TABLE: Final = ("bank", "transactions")
TRANSACTIONS_KEY: Final = dg.AssetKey([*TRANSACTIONS_TABLE])


class MeetingConfig(dg.Config):
    """Where a run meets others, so that a demo or a test can be certain that they overlap."""

    rendezvous_dir: str | None = Field(
        default=None,
        description="A fresh folder where runs wait for each other before they write, so that they overlap.",
    )
    rendezvous_parties: int = Field(default=1, ge=1, description="How many runs meet in rendezvous_dir.")
    rendezvous_s_max: float = Field(default=120.0, ge=0, description="How long they wait for each other.")

    def meet(self, run_id: str) -> None:
        """Return when all have come."""
        if self.rendezvous_dir is not None:
            folder = Path(self.rendezvous_dir)
            Rendezvous(folder, parties=self.rendezvous_parties, run_id=run_id, wait_s_max=self.rendezvous_s_max).meet()


class MirrorConfig(MeetingConfig):
    """How a run of the mirror is to go; the defaults are for daily use."""

    batch: int | None = Field(
        default=None, ge=1, description="Delta versions per catalog commit; by default as many as cost least."
    )


source: Final = dg.AssetSpec(
    SOURCE_KEY,
    description="The Delta table bank_transactions, to which an upstream job appends: transactions of some days at a "
    "time, some of them late.",
    group_name=GROUP,
    owners=[OWNER],
    kinds={"deltalake"},
)


@dg.asset(
    key=TRANSACTIONS_KEY,
    deps=[SOURCE_KEY],
    group_name=GROUP,
    owners=[OWNER],
    kinds={"iceberg"},
)
def transactions(
    context: dg.AssetExecutionContext,
    config: MirrorConfig,
    catalog: IcebergCatalog,
    transactions: dg.ResourceParam[DeltaSource],
) -> dg.MaterializeResult[None]:
    """Mirrors the Delta table: each of its versions is a snapshot of bank.transactions, once, whatever overlaps."""
    from seriatim.dagster.mirror import mirror_in_run

    config.meet(context.run.run_id)
    return mirror_in_run(context, catalog.load(), TRANSACTIONS_TABLE, transactions, batch=config.batch, policy=POLICY)
