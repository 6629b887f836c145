"""Opening accounts: the table is made, and each new account is inserted once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import In
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField

from assets.account_table import ACCOUNT_TABLE, OPENINGS, POLICY
from seriatim.commit import Append, Base, NoChange, Writer
from seriatim.dagster import ensure_table
from seriatim.mirror import Consumed, consume

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
