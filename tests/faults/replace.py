"""A rival that compacts as the specification has it: one snapshot of operation `replace`, with the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan, _dataframe_to_data_files
from pyiceberg.manifest import DataFile
from pyiceberg.table import FileScanTask, Table
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update import AddSnapshotUpdate

from tests.faults.bank import Bank


def compact(bank: Bank, only: Callable[[DataFile], bool] = lambda file: True) -> None:
    """Write the rows of some data files (all) again, together, sorted the other way round."""
    with bank.rival() as catalog:
        table = catalog.load_table(bank.identifier)
        tasks = [task for task in table.scan().plan_files() if only(task.file)]
        rows = _rows(table, tasks)
        order = [(rows.column_names[0], "descending")]
        new = list(_dataframe_to_data_files(table_metadata=table.metadata, df=rows.sort_by(order), io=table.io))
        table.catalog = _Replacing(catalog)  # type: ignore[assignment]  # PyIceberg asks a catalog for no more.
        with table.transaction() as transaction, transaction.update_snapshot().overwrite() as producer:
            for task in tasks:
                producer.delete_data_file(task.file)
            for file in new:
                producer.append_data_file(file)


def _rows(table: Table, tasks: list[FileScanTask]) -> pa.Table:
    scan = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue())
    return scan.to_table(tasks)


class _Replacing:
    """A catalog that calls every snapshot a `replace`, which PyIceberg never does by itself."""

    def __init__(self, catalog: Any) -> None:
        self._catalog = catalog

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> Any:
        return self._catalog.commit_table(table, requirements, tuple(_as_replace(update) for update in updates))


def _as_replace(update: Any) -> Any:
    if not isinstance(update, AddSnapshotUpdate) or update.snapshot.summary is None:
        return update
    summary = Summary(operation=Operation.REPLACE, **update.snapshot.summary.additional_properties)
    return AddSnapshotUpdate(snapshot=update.snapshot.model_copy(update={"summary": summary}))
