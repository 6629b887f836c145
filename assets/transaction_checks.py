"""Checks that look at more than one column of transactions, or beyond them."""

from __future__ import annotations

from collections.abc import Container

import pyarrow as pa
import pyarrow.compute as pc

from assets.batch import Batch
from assets.errors import Place, Problem, TransactionsError, UnknownAccountError
from assets.kinds import KINDS, is_allowed_sign
from assets.transaction_file import Column


def require_unique_ids(trans_ids: pa.ChunkedArray, place: Place) -> None:
    """Raise for the first row whose id an earlier row has.

    Raises:
        TransactionsError: naming both rows.
    """
    if pc.count_distinct(trans_ids).as_py() == len(trans_ids):
        return
    rows: dict[int, int] = {}
    for row, trans_id in enumerate(trans_ids.to_pylist(), start=1):
        earlier_row = rows.setdefault(trans_id, row)
        if earlier_row != row:
            raise TransactionsError(
                place, Problem.DUPLICATE, row=row, column="trans_id", value=trans_id, earlier_row=earlier_row
            )


def require_signs(table: pa.Table, amounts: Column) -> None:
    """Raise for the first row whose amount has a sign that its kind gives no meaning.

    Raises:
        TransactionsError: naming the row and its amount.
    """
    for sign, is_misplaced in ((1, pc.greater), (-1, pc.less)):
        refusing = [kind.name for kind in KINDS if not is_allowed_sign(kind.rule, sign)]
        of_kind = pc.is_in(table["kind"], value_set=pa.array(refusing, pa.string()))
        amounts.require(pc.invert(pc.and_(of_kind, is_misplaced(table["amount_minor"], 0))), Problem.WRONG_SIGN)


def require_accounts(batch: Batch, known_ids: Container[int]) -> None:
    """Raise for the first transaction of the batch, in file order, whose account is not known.

    Raises:
        UnknownAccountError: naming the row and the account.
    """
    unknown = [transaction for transaction in batch.transactions if transaction.account_id not in known_ids]
    if unknown:
        first = min(unknown, key=lambda transaction: transaction.row)
        raise UnknownAccountError(batch.place, row=first.row, account_id=first.account_id)
