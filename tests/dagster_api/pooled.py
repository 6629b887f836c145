"""A code location whose jobs are limited in different ways; nothing of it is executed."""

from __future__ import annotations

import dagster as dg


@dg.asset
def free() -> None:
    """Is in no pool."""


@dg.asset(pool="bank_account")
def pooled() -> None:
    """Is in a pool that nobody has set a limit of."""


@dg.asset(pool="bank_account")
def also_pooled() -> None:
    """Is in the same pool."""


def _job(asset: dg.AssetsDefinition, name: str, table: str | None = None) -> dg.UnresolvedAssetJobDefinition:
    return dg.define_asset_job(name, selection=[asset], tags={"seriatim/table": table} if table else None)


defs = dg.Definitions(
    assets=[free, pooled, also_pooled],
    jobs=[
        _job(free, "free_job"),
        _job(free, "account_job", "bank.account"),
        _job(free, "loans_job", "bank.loans"),
        _job(pooled, "pooled_job"),
        _job(also_pooled, "also_pooled_job"),
    ],
)
