"""A run that posts the transactions of one kind: what it does, and what it tells of it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import dagster as dg
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from assets.account_opening import open_accounts
from assets.account_table import ACCOUNT_TABLE, POLICY
from assets.kinds import Kind
from assets.posting import NOTHING_POSTED, Posting
from assets.posting_change import PostingChange
from assets.steps import span
from assets.transactions import COLUMNS, check_transactions
from assets.transactions_table import TRANSACTIONS_TABLE
from seriatim.commit import Observer, Writer
from seriatim.mirror import Consumed, NewRows, consume

_DAYS_MAX: Final = 400  # shown in a run's report, the latest


class Poster:
    """Posts the transactions of one kind."""

    def __init__(self, kind: Kind, *, writer: Writer, after_read: Callable[[], None] = lambda: None) -> None:
        """Prepare to post; `after_read` is called when the balances have been read, in each attempt."""
        self._kind, self._writer, self._after_read = kind, writer, after_read
        self._change: PostingChange | None = None  # None: nothing new was found

    @property
    def posting(self) -> Posting:
        """What was computed last."""
        return self._change.posting if self._change else NOTHING_POSTED

    def post(self, catalog: Catalog, transactions: Table, upto: int, *, observer: Observer) -> Consumed:
        """Post what has not been posted up to a Delta version, onto accounts that are opened before.

        Raises:
            SeriatimError: nothing was posted, or it is not known.
        """
        open_accounts(catalog, transactions, upto, writer=self._writer)
        return consume(
            transactions,
            catalog,
            ACCOUNT_TABLE,
            self._change_of,
            stream=f"bank/{self._kind.name}",
            upto=upto,
            columns=COLUMNS,
            policy=POLICY,
            writer=self._writer,
            observer=observer,
        )

    def _change_of(self, new: NewRows) -> PostingChange:
        place = f"{'.'.join(TRANSACTIONS_TABLE)}, Delta version {span(new.after, new.upto)}"
        batch = check_transactions(new.rows, place).of(self._kind)
        self._change = PostingChange(batch, after_read=self._after_read)
        return self._change


def posting_metadata(consumed: Consumed, posting: Posting) -> dict[str, dg.MetadataValue[Any]]:
    """Tell what was posted; a posting that was computed, but found to have landed before, posted nothing."""
    landed = NOTHING_POSTED if consumed.receipt.is_noop else posting
    metadata: dict[str, dg.MetadataValue[Any]] = {
        "transactions": dg.MetadataValue.int(landed.transactions),
        "refused": dg.MetadataValue.int(len(landed.refused)),
        "sum_posted_minor": dg.MetadataValue.int(landed.sum_posted_minor),
        "sum_posted": dg.MetadataValue.text(_money(landed.sum_posted_minor)),
    }
    if landed.days:
        days = [
            dg.TableRecord(
                {
                    "day": str(day),
                    "transactions": each.transactions,
                    "refused": each.refused,
                    "sum_posted": _money(each.sum_posted_minor),
                }
            )
            for day, each in sorted(landed.days.items())[-_DAYS_MAX:]
        ]
        metadata["days"] = dg.MetadataValue.table(days)
    return metadata


def _money(minor: int) -> str:
    return f"{Decimal(minor).scaleb(-2):.2f}"
