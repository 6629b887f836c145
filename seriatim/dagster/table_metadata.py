"""What a table looks like at one of its snapshots, as the metadata of a materialization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import dagster as dg

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot
    from pyiceberg.typedef import Identifier

ROW_COUNT: Final = "dagster/row_count"


def described(
    log: dg.DagsterLogManager,
    catalog: Catalog,
    identifier: str | Identifier,
    snapshot_id: int | None,
    *,
    branch: str = "main",
    totals: Sequence[str] = (),
) -> dict[str, dg.MetadataValue[Any]]:
    """Load a table and return `table_metadata`; that this cannot be done does not make what landed a failure."""
    try:
        return table_metadata(catalog.load_table(identifier), snapshot_id, branch=branch, totals=totals)
    except Exception as err:  # noqa: BLE001  # Whatever it is: the change has landed.
        log.warning(f"What was written stands, but the table could not be read to be described: {err}")
        return {}


def table_metadata(
    table: Table, snapshot_id: int | None, *, branch: str = "main", totals: Sequence[str] = ()
) -> dict[str, dg.MetadataValue[Any]]:
    """Return the columns, the number of rows, the lineage, and the total of each of the columns `totals`.

    What can be told of the snapshot is told: nothing of one that is gone, no number of rows where delete files would
    have to be read for it. Only `totals` reads rows: the whole column, at that snapshot.
    """
    from seriatim.dagster.lineage import lineage_markdown

    metadata: dict[str, dg.MetadataValue[Any]] = {
        "dagster/table_name": dg.MetadataValue.text(".".join(table.name())),
        "dagster/column_schema": dg.MetadataValue.table_schema(_columns(table.schema())),
    }
    snapshot = None if snapshot_id is None else table.snapshot_by_id(snapshot_id)
    if snapshot is None:
        return metadata
    if (rows := _row_count(snapshot)) is not None:
        metadata[ROW_COUNT] = dg.MetadataValue.int(rows)
    if (lineage := lineage_markdown(table, snapshot.snapshot_id, branch)) is not None:
        metadata["lineage"] = dg.MetadataValue.md(lineage)
    return metadata | {f"total_{column}": _total(table, snapshot, column) for column in totals}


def _columns(schema: Schema) -> dg.TableSchema:
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                field.name,
                type=str(field.field_type),
                description=field.doc,
                constraints=dg.TableColumnConstraints(nullable=not field.required),
            )
            for field in schema.fields
        ]
    )


def _row_count(snapshot: Snapshot) -> int | None:
    summary = snapshot.summary.additional_properties if snapshot.summary is not None else {}
    rows, delete_files = summary.get("total-records"), summary.get("total-delete-files", "0")
    return int(rows) if rows is not None and delete_files == "0" else None


def _total(table: Table, snapshot: Snapshot, column: str) -> dg.MetadataValue[Any]:
    import pyarrow.compute as pc

    rows = table.scan(snapshot_id=snapshot.snapshot_id, selected_fields=(column,)).to_arrow()
    total = pc.sum(rows[column]).as_py()
    return dg.MetadataValue.int(total or 0) if isinstance(total, int | None) else dg.MetadataValue.float(float(total))
