"""The assets that post transactions: one for each kind, all of them writing the one account table."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
import warnings
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import dagster as dg
from pydantic import Field

from assets.account_table import ACCOUNT_KEY, ACCOUNT_TABLE, ensure_account_table, known_account_ids
from assets.accounts import GROUP, OWNER, accounts
from assets.kinds import KINDS, Kind
from assets.posting import Posting
from assets.posting_change import PostingChange
from assets.rendezvous import Rendezvous
from assets.transactions import read_transactions
from assets.transactions_source import TransactionsSource
from seriatim.commit import Receipt, RetryPolicy, Writer, apply
from seriatim.dagster import (
    ConflictReporter,
    IcebergCatalog,
    Launch,
    operation_metadata,
    operations,
    outcome_sentence,
    receipt_metadata,
)

BUSINESS_DAYS: Final = dg.DailyPartitionsDefinition(start_date="1993-01-01")

# All kinds may post at once: in lock-step the unluckiest of n runs loses n - 1 times.
_POLICY: Final = RetryPolicy(attempts_max=60, total_s_max=600.0)


class PostingConfig(dg.Config):
    """How a posting run is to go; the defaults are for daily use."""

    force: bool = Field(default=False, description="Post the days once more, though they have been posted.")
    rendezvous_dir: str | None = Field(
        default=None,
        description="A fresh folder where runs wait for each other after their first read, so that they overlap.",
    )
    rendezvous_parties: int = Field(default=1, ge=1, description="How many runs meet in rendezvous_dir.")
    rendezvous_s_max: float = Field(default=120.0, ge=0, description="How long they wait for each other.")

    def meet(self, run_id: str) -> Rendezvous | None:
        """Return where the run meets others (None: nowhere)."""
        if self.rendezvous_dir is None:
            return None
        folder = Path(self.rendezvous_dir)
        return Rendezvous(folder, parties=self.rendezvous_parties, run_id=run_id, wait_s_max=self.rendezvous_s_max)


def posting_asset(kind: Kind) -> dg.AssetsDefinition:
    """Return the asset that posts the transactions of one kind."""

    @dg.asset(
        key=["bank", kind.name],
        deps=[accounts],
        description=f"{kind.description} A day is posted onto the balances once: {kind.rule.value}.",
        group_name=GROUP,
        owners=[OWNER],
        kinds={"iceberg"},
        tags={"rule": kind.rule.name.lower()},
        partitions_def=BUSINESS_DAYS,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def posting(
        context: dg.AssetExecutionContext,
        config: PostingConfig,
        catalog: IcebergCatalog,
        transactions: dg.ResourceParam[TransactionsSource],
    ) -> dg.MaterializeResult[None]:
        run_id, iceberg, known = context.run.run_id, catalog.load(), read_transactions(transactions.path())
        launched = operations(Launch.of(context), force=config.force)
        days = dict(zip(launched.ids, map(date.fromisoformat, context.partition_keys), strict=True))
        writer, meeting = Writer(run_id), config.meet(run_id)
        change = PostingChange(known, kind, days, after_read=meeting.meet if meeting else lambda: None)
        ensure_account_table(iceberg, known.account_ids(), writer=writer)
        known.require_accounts(known_account_ids(iceberg))
        receipt = apply(
            iceberg,
            ACCOUNT_TABLE,
            change,
            operation_ids=launched.plain_ids,
            partitions=launched.partitions,
            issued_at_ms=launched.issued_at_ms,
            policy=_POLICY,
            writer=writer,
            observer=ConflictReporter(context, ACCOUNT_KEY),
        )
        context.log.info(outcome_sentence(receipt))
        for operation_id, day in zip(launched.ids, context.partition_keys, strict=True):
            context.add_asset_metadata(operation_metadata(receipt, operation_id), partition_key=day)
        return dg.MaterializeResult(metadata=_metadata(receipt, change.posting))

    return posting


def _metadata(receipt: Receipt, posting: Posting) -> dict[str, dg.MetadataValue[Any]]:
    """Tell what was posted; a posting that was computed, but found to have landed before, posted nothing."""
    landed = Posting({}, sum_posted_minor=0, transactions=0, refused=()) if receipt.is_noop else posting
    return {
        **receipt_metadata(receipt),
        "transactions": dg.MetadataValue.int(landed.transactions),
        "refused": dg.MetadataValue.int(len(landed.refused)),
        "sum_posted_minor": dg.MetadataValue.int(landed.sum_posted_minor),
        "sum_posted": dg.MetadataValue.text(f"{Decimal(landed.sum_posted_minor).scaleb(-2):.2f}"),
    }


def _posting_assets() -> list[dg.AssetsDefinition]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*backfill_policy", category=dg.BetaWarning)  # Dagster 1.13
        return [posting_asset(kind) for kind in KINDS]


postings: Final = _posting_assets()
