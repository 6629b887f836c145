"""What a posting run does to the account table: a change, computed anew from each base."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import In

from assets.batch import Batch
from assets.posting import NOTHING_POSTED, post
from seriatim.commit import Base, Declared, NoChange, Rewrite


class PostingChange:
    """Posts a batch of transactions."""

    def __init__(self, batch: Batch, *, after_read: Callable[[], None] = lambda: None) -> None:
        """Prepare to post.

        `after_read` is called in each attempt when the balances have been read: a place to meet other runs.
        """
        self._batch, self._after_read = batch, after_read
        self.posting = NOTHING_POSTED  # of the last attempt

    def __call__(self, base: Base) -> Declared | NoChange:
        """Compute the new balances from those in the base; only accounts with transactions are read.

        Raises:
            UnknownAccountError: a transaction names an account that the table lacks.
            PostingOverflowError: a balance would leave the range of 64 bits.
        """
        rows = base.read(where=In("id", self._batch.account_ids()))
        self._after_read()
        self.posting = post(dict(zip(rows["id"].to_pylist(), rows["bal"].to_pylist(), strict=True)), self._batch)
        if not self.posting.rows_changed:
            return NoChange()
        balances = self.posting.balances_minor
        changed = rows.filter(pc.is_in(rows["id"], pa.array(balances, rows.schema.field("id").type)))
        column = changed.schema.get_field_index("bal")
        new = pa.array([balances[id_] for id_ in changed["id"].to_pylist()], changed.schema.field("bal").type)
        rewrite = Rewrite(changed.set_column(column, changed.schema.field("bal"), new), keys="id")
        return Declared(rewrite, sums={"bal": self.posting.sum_posted_minor})
