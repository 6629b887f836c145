"""What the serial model refuses: evidence that cannot be the trace of runs applied once each."""

from __future__ import annotations


class OracleError(Exception):
    """The evidence given to the oracle cannot be judged; its message says why."""


class DoubleApplyError(OracleError):
    """Something was applied more than once."""

    def __init__(self, what: str, *, where: str) -> None:
        """Build the message from the name of what was applied and the places where."""
        super().__init__(f"{what} was applied more than once: {where}")
        self.what, self.where = what, where


class LineageError(OracleError):
    """The table's history cannot be followed from the current snapshot to the beginning."""

    def __init__(self, metadata_file: str, reason: str) -> None:
        """Build the message from the file and what is wrong with the history in it."""
        super().__init__(f"{metadata_file}: {reason}")
        self.metadata_file, self.reason = metadata_file, reason


class UnknownOperationError(OracleError):
    """An operation id is not one of the bank's, so the oracle cannot say what it did."""

    def __init__(self, operation_id: str) -> None:
        """Build the message from the id."""
        super().__init__(f"{operation_id!r} is no operation of the bank: expected bank/<kind>@<Delta version>")
        self.operation_id = operation_id
