"""The assets that post transactions: one for each kind, all of them writing the one account table.

Each is a stream: a run posts what the Delta versions after those that have been posted appended, of whatever business
day, in one commit that moves the stream's watermark, too.
"""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
from typing import Final

import dagster as dg
from pydantic import Field

from assets.account_table import ACCOUNT_KEY
from assets.accounts import accounts
from assets.kinds import KINDS, Kind
from assets.transactions_table import GROUP, OWNER, TRANSACTIONS_KEY, MeetingConfig
from seriatim.commit import Writer
from seriatim.dagster import ConflictReporter, IcebergCatalog, outcome_sentence


class PostingConfig(MeetingConfig):
    """How a posting run is to go; the defaults are for daily use."""

    upto: int | None = Field(
        default=None, ge=0, description="Post what arrived up to this Delta version; by default all that is mirrored."
    )


def posting_asset(kind: Kind) -> dg.AssetsDefinition:
    """Return the asset that posts the transactions of one kind."""

    @dg.asset(
        key=["bank", kind.name],
        deps=[TRANSACTIONS_KEY, accounts],
        description=f"{kind.description} Each is posted onto the balances once: {kind.rule.value}.",
        group_name=GROUP,
        owners=[OWNER],
        kinds={"iceberg"},
        tags={"rule": kind.rule.name.lower()},
    )
    def posting(
        context: dg.AssetExecutionContext, config: PostingConfig, catalog: IcebergCatalog
    ) -> dg.MaterializeResult[None]:
        from assets.mirrored import mirrored
        from assets.poster import Poster, posting_metadata
        from assets.steps import nothing_mirrored, step_metadata

        run_id, iceberg = context.run.run_id, catalog.load()
        found = mirrored(iceberg)
        if found is None:
            return nothing_mirrored(context)
        table, version = found
        poster = Poster(kind, writer=Writer(run_id), after_read=lambda: config.meet(run_id))
        upto = version if config.upto is None else config.upto
        consumed = poster.post(iceberg, table, upto, observer=ConflictReporter(context, ACCOUNT_KEY))
        context.log.info(outcome_sentence(consumed.receipt))
        return dg.MaterializeResult(
            metadata={**step_metadata(context.log, iceberg, consumed), **posting_metadata(consumed, poster.posting)}
        )

    return posting


postings: Final = [posting_asset(kind) for kind in KINDS]
