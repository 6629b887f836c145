"""A table that becomes another in the middle of a commit: its next schema, partition spec and properties."""

from __future__ import annotations

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    AddPartitionSpecUpdate,
    AddSchemaUpdate,
    SetCurrentSchemaUpdate,
    SetDefaultSpecUpdate,
    SetPropertiesUpdate,
    TableUpdate,
)

from seriatim.commit.chain import Form


def take_on(metadata: TableMetadata, form: Form) -> tuple[TableMetadata, tuple[TableUpdate, ...]]:
    """Return the metadata in that form, and the updates that make the catalog's so; none where it has the form."""
    updates: list[TableUpdate] = []
    if form.schema is not None:
        metadata = _with_schema(metadata, form.schema, updates)
    if form.spec is not None:
        metadata = _with_spec(metadata, form.spec, updates)
    changed = {key: value for key, value in form.properties.items() if metadata.properties.get(key) != value}
    if changed:
        updates.append(SetPropertiesUpdate(updates=changed))
        metadata = metadata.model_copy(update={"properties": {**metadata.properties, **changed}})
    return metadata, tuple(updates)


def schema_of(metadata: TableMetadata, spec: PartitionSpec) -> Schema:
    """Return the table's schema, or the newest one that still has the columns by which an old spec partitions."""
    sources = {field.source_id for field in spec.fields}
    candidates = [metadata.schema(), *sorted(metadata.schemas, key=lambda each: each.schema_id, reverse=True)]
    return next((each for each in candidates if sources <= set(each.field_ids)), metadata.schema())


def _with_schema(metadata: TableMetadata, wanted: Schema, updates: list[TableUpdate]) -> TableMetadata:
    if metadata.schema() == wanted:
        return metadata
    found = next((each for each in metadata.schemas if each == wanted), None)
    if found is None:
        next_id = max(each.schema_id for each in metadata.schemas) + 1
        found = Schema(*wanted.fields, schema_id=next_id, identifier_field_ids=wanted.identifier_field_ids)
        updates.append(AddSchemaUpdate(schema_=found))
        last_id = max(metadata.last_column_id, found.highest_field_id)
        added = {"schemas": [*metadata.schemas, found], "last_column_id": last_id}
        metadata = metadata.model_copy(update=added)
    updates.append(SetCurrentSchemaUpdate(schema_id=found.schema_id))
    return metadata.model_copy(update={"current_schema_id": found.schema_id})


def _with_spec(metadata: TableMetadata, wanted: PartitionSpec, updates: list[TableUpdate]) -> TableMetadata:
    if metadata.spec().compatible_with(wanted):
        return metadata
    # A catalog takes specs for one that differ in their field ids alone, and would not add the second.
    found = next((each for each in metadata.partition_specs if each.compatible_with(wanted)), None)
    if found is None:
        found = PartitionSpec(*wanted.fields, spec_id=max(each.spec_id for each in metadata.partition_specs) + 1)
        updates.append(AddPartitionSpecUpdate(spec=found))
        metadata = metadata.model_copy(update={"partition_specs": [*metadata.partition_specs, found]})
    updates.append(SetDefaultSpecUpdate(spec_id=found.spec_id))
    return metadata.model_copy(update={"default_spec_id": found.spec_id})
