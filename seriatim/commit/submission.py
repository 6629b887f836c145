"""Builds the snapshot of a staged change on a table handle and hands it to the gate."""

from __future__ import annotations

from pyiceberg.table import Table

from seriatim.commit import private
from seriatim.commit.staging import Staged


def submit(table: Table, staged: Staged, branch: str) -> None:
    """Commit the staged files as one snapshot on `branch`; an empty change makes an empty snapshot."""
    with (
        table.transaction() as transaction,
        private.producer(transaction, branch, is_append=not staged.removed) as producer,
    ):
        for file in staged.removed:
            producer.delete_data_file(file)
        for file in staged.added:
            producer.append_data_file(file)
