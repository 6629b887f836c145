"""The bank's one table: `bank.account`, an id and a balance in minor units for each account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import In
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField

from seriatim.audit import Invariant, SumsAsRecorded, UniqueKey
from seriatim.commit import Append, Base, NoChange, RetryPolicy, Writer
from seriatim.dagster import ensure_table
from seriatim.mirror import Consumed, consume

ACCOUNT_TABLE: Final = ("bank", "account")
ACCOUNT_KEY: Final = dg.AssetKey([*ACCOUNT_TABLE])
ACCOUNT_INVARIANTS: Final[tuple[Invariant, ...]] = (UniqueKey("id"), SumsAsRecorded("bal"))
OPENINGS: Final = "bank/accounts"
"""The stream that opens accounts."""

# All jobs may write at once, and all runs of the mirror: in lock-step the unluckiest of n loses n - 1 times.
POLICY: Final = RetryPolicy(attempts_max=60, total_s_max=600.0)

_SCHEMA: Final = Schema(
    NestedField(1, "id", LongType(), required=True, doc="The account."),
    NestedField(2, "bal", LongType(), required=True, doc="Its balance in minor units (cents)."),
    identifier_field_ids=[1],
)
# Fourteen commits a day: ten weeks that the oracle can replay, and metadata files that do not pile up.
_PROPERTIES: Final = {
    "history.expire.min-snapshots-to-keep": "1000",
    "write.metadata.previous-versions-max": "20",
    "write.metadata.delete-after-commit.enabled": "true",
}


def open_accounts(catalog: Catalog, transactions: Table, upto: int, *, writer: Writer) -> Consumed:
    """Open at balance 0 each account that the transactions up to a Delta version name and the table lacks.

    The table is made if it is not there. Several processes may do so at once: each account is opened once.

    Raises:
        SeriatimError: none was opened, or it is not known; nothing may be posted of what names them.
    """
    ensure_account_table(catalog)
    return consume(
        transactions,
        catalog,
        ACCOUNT_TABLE,
        lambda new: _Opening(pc.unique(new.rows["account_id"]).drop_null().to_pylist()),
        stream=OPENINGS,
        upto=upto,
        columns=["account_id"],
        policy=POLICY,
        writer=writer,
    )


def ensure_account_table(catalog: Catalog) -> None:
    """Make the table, empty, if it is not there."""
    ensure_table(catalog, ACCOUNT_TABLE, _SCHEMA, _PROPERTIES)


class _Opening:
    """Inserts those of the accounts that the table lacks; the others keep their balances."""

    def __init__(self, account_ids: Sequence[int]) -> None:
        self._account_ids = sorted(account_ids)

    def __call__(self, base: Base) -> Append | NoChange:
        present = set(base.read(where=In("id", self._account_ids), columns=["id"])["id"].to_pylist())
        rows = [{"id": account_id, "bal": 0} for account_id in self._account_ids if account_id not in present]
        return Append(pa.Table.from_pylist(rows, schema=base.schema.as_arrow())) if rows else NoChange()
