"""Gives each set of partition columns its partition spec."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform, Transform
from pyiceberg.types import NestedField

from seriatim.mirror.forms.known import Known

_IDENTITY: Final[Transform[Any, Any]] = IdentityTransform()


def spec_of(partitioned_by: Sequence[NestedField], columns: Sequence[NestedField], known: Known) -> PartitionSpec:
    """Return the spec with the values of these columns: an earlier one where one fits, else the next."""
    for spec in known.specs:
        if _fits(spec, partitioned_by, columns):
            return spec
    earlier = {
        field.source_id: field.field_id
        for spec in known.specs
        for field in spec.fields
        if isinstance(field.transform, IdentityTransform)
    }
    last, fields = known.last_partition_id, []
    for column in partitioned_by:
        field_id = earlier.get(column.field_id)
        if field_id is None:
            field_id = last = last + 1
        fields.append(PartitionField(column.field_id, field_id, _IDENTITY, column.name))
    return PartitionSpec(*fields, spec_id=max((spec.spec_id for spec in known.specs), default=-1) + 1)


def _fits(spec: PartitionSpec, partitioned_by: Sequence[NestedField], columns: Sequence[NestedField]) -> bool:
    """Tell whether a spec has the same columns; one whose field has got the name of another column is not used again.

    Iceberg allows a partition field the name of its own column alone.
    """
    if [field.source_id for field in spec.fields] != [column.field_id for column in partitioned_by]:
        return False
    ids = {column.name: column.field_id for column in columns}
    return all(
        isinstance(field.transform, IdentityTransform) and ids.get(field.name, field.source_id) == field.source_id
        for field in spec.fields
    )
