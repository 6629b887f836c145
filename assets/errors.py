"""What can be wrong with the bank's input, as types.

SeriatimError
  TransactionsError        the transactions cannot be used: mend them (`problem` says in which way)
    UnknownAccountError    a transaction names an account that the table lacks
  PostingOverflowError     a balance would leave the range of 64 bits

Nothing has been posted when one of these is raised.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from seriatim.errors import SeriatimError

Place = Path | str
"""Where transactions were read: a file, or in words, a table and its versions."""


class Problem(Enum):
    """Everything that can be wrong with transactions: what is wrong, and what to do about it."""

    MISSING_FILE = ("there is no such file", "name an existing .parquet or .csv file")
    UNKNOWN_FORMAT = ("the file's name ends in neither .parquet nor .csv", "write it as Parquet or CSV and name it so")
    UNREADABLE_FILE = ("the file cannot be read", "write it again; it may be damaged or cut short")
    RAGGED_ROW = ("the row has more or fewer fields than the header", "quote fields that hold commas or line breaks")
    LACKING_COLUMN = ("the file lacks this column", "add it to the file")
    REPEATED_COLUMN = ("the file has this column more than once", "keep one of them")
    WRONG_TYPE = (
        "the column has a type that cannot be used",
        "store ids as integers, dates as dates, amounts as decimals",
    )
    NULL = ("there is no value", "fill it in, or remove the row")
    NOT_AN_INTEGER = ("this is not an integer", "store ids as integers")
    NOT_A_DATE = ("this is not a date", "write dates as YYYY-MM-DD")
    NOT_A_WHOLE_DAY = ("this is not a whole day", "store the business day, without a time of day")
    NOT_AN_AMOUNT = ("this is not a plain decimal number", "write amounts like -1234.50")
    TOO_PRECISE = ("the amount has more than two decimals", "round it to whole cents")
    OUT_OF_RANGE = (
        "the value is too large to be held exactly",
        "check it; cents and ids must fit into 64 bits, floats into 15 digits",
    )
    UNKNOWN_KIND = ("there is no such kind of transaction", "use one of the kinds in assets/kinds.py")
    WRONG_SIGN = ("the amount has the wrong sign for its kind", "see what the kind's amount means in assets/kinds.py")
    DUPLICATE = ("an earlier row has the same id", "remove one of the two rows, or give it an id of its own")
    UNKNOWN_ACCOUNT = ("the table has no such account", "open the account first, or remove its transactions")

    def __init__(self, text: str, advice: str) -> None:
        """Name the two halves of the value."""
        self.text, self.advice = text, advice


class TransactionsError(SeriatimError):
    """The transactions cannot be used and none of them was; mend the row that is named, or the file.

    `row` counts data rows from 1, without the header and without empty lines. `None` for row, column or value: the
    problem is not one of a single row, of a single column, or has no value to show.
    """

    def __init__(
        self,
        place: Place,
        problem: Problem,
        *,
        row: int | None = None,
        column: str | None = None,
        value: object = None,
        earlier_row: int | None = None,
        reason: str | None = None,
    ) -> None:
        """Build the message from the place, the value, and the problem's own words."""
        where = ", ".join([str(place), *([f"row {row}"] if row else []), *([f"column {column}"] if column else [])])
        shown = f" {value!r}:" if value is not None else ""
        details = (f" (row {earlier_row})" if earlier_row else "") + (f" ({reason})" if reason else "")
        super().__init__(f"{where}:{shown} {problem.text}{details}; {problem.advice}. Nothing was posted.")
        self.place, self.problem = place, problem
        self.row, self.column, self.value = row, column, value
        self.earlier_row = earlier_row  # None: the problem is not a duplicate
        self.reason = reason  # None: there is nothing to add to the problem's own words


class UnknownAccountError(TransactionsError):
    """A transaction names an account that the table lacks; nothing was posted, so open the account first."""

    def __init__(self, place: Place, *, row: int, account_id: int) -> None:
        """Build the message from the row and the account that it names."""
        super().__init__(place, Problem.UNKNOWN_ACCOUNT, row=row, column="account_id", value=account_id)
        self.account_id = account_id


class PostingOverflowError(SeriatimError):
    """A transaction would carry a balance out of the range of 64 bits; nothing was posted."""

    def __init__(
        self, place: Place, *, row: int, trans_id: int, account_id: int, balance_minor: int, change_minor: int
    ) -> None:
        """Build the message from the transaction, the balance that it met, and the change."""
        super().__init__(
            f"{place}, row {row}: transaction {trans_id} would change account {account_id} from {balance_minor} by "
            f"{change_minor} minor units, which does not fit into 64 bits; check the amount. Nothing was posted."
        )
        self.place, self.row, self.trans_id, self.account_id = place, row, trans_id, account_id
        self.balance_minor, self.change_minor = balance_minor, change_minor
