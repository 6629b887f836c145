"""The bank's one table: `bank.account`, an id and a balance in minor units for each account."""

from __future__ import annotations

from typing import Final

import dagster as dg

from seriatim.audit import Invariant, SumsAsRecorded, UniqueKey
from seriatim.commit import RetryPolicy

ACCOUNT_TABLE: Final = ("bank", "account")
ACCOUNT_KEY: Final = dg.AssetKey([*ACCOUNT_TABLE])
ACCOUNT_INVARIANTS: Final[tuple[Invariant, ...]] = (UniqueKey("id"), SumsAsRecorded("bal"))
OPENINGS: Final = "bank/accounts"
"""The stream that opens accounts."""

# All jobs may write at once, and all runs of the mirror: in lock-step the unluckiest of n loses n - 1 times.
POLICY: Final = RetryPolicy(attempts_max=60, total_s_max=600.0)
