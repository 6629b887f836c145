"""The bank's one table: `bank.account`, an id and a balance in minor units for each account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import dagster as dg
import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import In
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from seriatim.audit import Invariant, SumsAsRecorded, UniqueKey
from seriatim.commit import Append, Base, NoChange, Receipt, Writer, apply
from seriatim.dagster import ensure_table

ACCOUNT_TABLE: Final = ("bank", "account")
ACCOUNT_KEY: Final = dg.AssetKey([*ACCOUNT_TABLE])
ACCOUNT_INVARIANTS: Final[tuple[Invariant, ...]] = (UniqueKey("id"), SumsAsRecorded("bal"))
OPENING: Final = "bank/account|opening"

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


def ensure_account_table(catalog: Catalog, account_ids: Sequence[int], *, writer: Writer) -> Receipt | None:
    """Make the table if it is not there, and open these accounts in it at balance 0 if it has no history yet.

    Several processes may do so at once: one of them opens the accounts, and none posts before that has landed.
    None: the table had a history, so that its accounts have been opened before.

    Raises:
        SeriatimError: the accounts could not be opened; nothing may be posted.
    """
    table = ensure_table(catalog, ACCOUNT_TABLE, _SCHEMA, _PROPERTIES)
    if table.current_snapshot() is not None:
        return None
    return open_accounts(catalog, account_ids, operation_ids=(OPENING,), writer=writer)


def open_accounts(
    catalog: Catalog,
    account_ids: Sequence[int],
    *,
    operation_ids: Sequence[str],
    issued_at_ms: int | None = None,
    writer: Writer,
) -> Receipt:
    """Insert those of the accounts that the table lacks, at balance 0; the others keep their balances.

    Raises:
        SeriatimError: none was opened, or it is not known; open the same accounts again.
    """

    def insert_missing(base: Base) -> Append | NoChange:
        present = set(base.read(where=In("id", account_ids), columns=["id"])["id"].to_pylist())
        missing = [account_id for account_id in account_ids if account_id not in present]
        rows = [{"id": account_id, "bal": 0} for account_id in missing]
        return Append(pa.Table.from_pylist(rows, schema=base.schema.as_arrow())) if missing else NoChange()

    return apply(
        catalog,
        ACCOUNT_TABLE,
        insert_missing,
        operation_ids=operation_ids,
        issued_at_ms=issued_at_ms,
        writer=writer,
    )


def known_account_ids(catalog: Catalog) -> pa.ChunkedArray:
    """Return the ids of all accounts that are open; accounts are never closed, so that none goes missing later."""
    return catalog.load_table(ACCOUNT_TABLE).scan(selected_fields=("id",)).to_arrow()["id"]
