"""The base of an attempt, as the catalog is made to check it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.update import (
    AssertCurrentSchemaId,
    AssertDefaultSpecId,
    AssertRefSnapshotId,
    AssertTableUUID,
    TableRequirement,
)


@dataclass(frozen=True, slots=True)
class Pin:
    """What one attempt read: it may commit only on exactly this (promise P1).

    The snapshot alone is too weak: a column that is dropped and added again between read and commit makes no snapshot,
    and the table could be another one under the same name.
    """

    table_uuid: UUID
    snapshot_id: int | None  # None: the table is empty
    sequence_number: int  # 0: the table is empty, or of format version 1
    schema_id: int
    spec_id: int

    @classmethod
    def of(cls, table: Table) -> Pin:
        """Return the pin of a table as it was loaded."""
        metadata = table.metadata
        head = metadata.current_snapshot()
        return cls(
            table_uuid=metadata.table_uuid,
            snapshot_id=head.snapshot_id if head else None,
            sequence_number=(head.sequence_number or 0) if head else 0,
            schema_id=metadata.current_schema_id,
            spec_id=metadata.default_spec_id,
        )

    def requirements(self) -> tuple[TableRequirement, ...]:
        """Return what the catalog must find in its compare-and-swap."""
        return (
            AssertTableUUID(uuid=self.table_uuid),
            AssertRefSnapshotId(ref=MAIN_BRANCH, snapshot_id=self.snapshot_id),
            AssertCurrentSchemaId(current_schema_id=self.schema_id),
            AssertDefaultSpecId(default_spec_id=self.spec_id),
        )
