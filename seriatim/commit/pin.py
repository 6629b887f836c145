"""The base of an attempt, as the catalog is made to check it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.update import (
    AssertCurrentSchemaId,
    AssertDefaultSpecId,
    AssertRefSnapshotId,
    AssertTableUUID,
    TableRequirement,
)

from seriatim.errors import InvalidChangeError


@dataclass(frozen=True, slots=True)
class Pin:
    """What one attempt read: it may commit only on exactly this (promise P1).

    The snapshot alone is too weak: a column that is dropped and added again between read and commit makes no snapshot,
    and the table could be another one under the same name.
    """

    table_uuid: UUID
    branch: str
    snapshot_id: int | None  # None: the branch has no snapshot, which only main may lack
    sequence_number: int  # 0: no snapshot, or format version 1
    schema_id: int
    spec_id: int

    @classmethod
    def of(cls, table: Table, branch: str = MAIN_BRANCH) -> Pin:
        """Return the pin of a branch of a table as it was loaded.

        Raises:
            InvalidChangeError: there is no such branch.
        """
        metadata = table.metadata
        head = metadata.snapshot_by_name(branch)
        if (head is None and branch != MAIN_BRANCH) or _is_tag(metadata, branch):
            name = ".".join(table.name())
            raise InvalidChangeError(
                f"{name}: there is no branch {branch!r} to commit to, only {sorted(metadata.refs)}"
            )
        return cls(
            table_uuid=metadata.table_uuid,
            branch=branch,
            snapshot_id=head.snapshot_id if head else None,
            sequence_number=(head.sequence_number or 0) if head else 0,
            schema_id=metadata.current_schema_id,
            spec_id=metadata.default_spec_id,
        )

    def requirements(self) -> tuple[TableRequirement, ...]:
        """Return what the catalog must find in its compare-and-swap."""
        return (
            AssertTableUUID(uuid=self.table_uuid),
            AssertRefSnapshotId(ref=self.branch, snapshot_id=self.snapshot_id),
            AssertCurrentSchemaId(current_schema_id=self.schema_id),
            AssertDefaultSpecId(default_spec_id=self.spec_id),
        )


def _is_tag(metadata: TableMetadata, name: str) -> bool:
    ref = metadata.refs.get(name)
    return ref is not None and ref.snapshot_ref_type != SnapshotRefType.BRANCH
