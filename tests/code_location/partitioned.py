"""A code location whose two assets have partitions, for backfills: one run for each, or one run for all."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
import os
import warnings

import dagster as dg

from seriatim.dagster import IcebergCatalog
from tests.dagster_api.accounts import daily

URI, WAREHOUSE = "SERIATIM_TEST_URI", "SERIATIM_TEST_WAREHOUSE"


class Places(IcebergCatalog):
    """The catalog that the environment names, when a run asks for it."""

    name: str = "test"
    uri: str = os.environ.get(URI, "")
    warehouse: str = os.environ.get(WAREHOUSE, "")


with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message=".*backfill_policy", category=dg.BetaWarning)  # Dagster 1.13
    defs = dg.Definitions(
        assets=[
            daily(name="each_by_itself"),
            daily(name="all_in_one", backfill_policy=dg.BackfillPolicy.single_run()),
        ],
        resources={"catalog": Places()},
        executor=dg.in_process_executor,
    )
