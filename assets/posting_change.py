"""What a posting run does to the account table: a change, computed anew from each base."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import In

from assets.kinds import Kind
from assets.posting import Posting, post
from assets.transactions import Transactions
from seriatim.commit import Base, Declared, NoChange, Rewrite


class PostingChange:
    """Posts one kind's transactions of those days that have not been posted in the base."""

    def __init__(
        self,
        transactions: Transactions,
        kind: Kind,
        days: Mapping[str, date],
        *,
        after_read: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare to post; `days` says which day each operation id stands for.

        `after_read` is called in each attempt when the balances have been read: a place to meet other runs.
        """
        self._transactions, self._kind, self._days, self._after_read = transactions, kind, days, after_read
        self.posting = Posting({}, sum_posted_minor=0, transactions=0, refused=())  # of the last attempt

    def __call__(self, base: Base) -> Declared | NoChange:
        """Compute the new balances from those in the base; only accounts with transactions are read.

        Raises:
            UnknownAccountError: a transaction names an account that the table lacks.
            PostingOverflowError: a balance would leave the range of 64 bits.
        """
        batch = self._transactions.of(self._kind, [self._days[operation_id] for operation_id in base.pending])
        rows = base.read(where=In("id", batch.account_ids()))
        self._after_read()
        self.posting = post(dict(zip(rows["id"].to_pylist(), rows["bal"].to_pylist(), strict=True)), batch)
        if not self.posting.rows_changed:
            return NoChange()
        balances = self.posting.balances_minor
        changed = rows.filter(pc.is_in(rows["id"], pa.array(balances, rows.schema.field("id").type)))
        column = changed.schema.get_field_index("bal")
        new = pa.array([balances[id_] for id_ in changed["id"].to_pylist()], changed.schema.field("bal").type)
        rewrite = Rewrite(changed.set_column(column, changed.schema.field("bal"), new), keys="id")
        return Declared(rewrite, sums={"bal": self.posting.sum_posted_minor})
