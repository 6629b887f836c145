"""What the mirror has used already: what is new gets an id of its own, and what comes again gets its old one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.name_mapping import MappedField, NameMapping, parse_mapping_from_json
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from seriatim.mirror.delta.actions import Metadata
from seriatim.mirror.forms.delta_schema import ELEMENT, KEY, VALUE, Path, given_ids, mapped_id_max
from seriatim.mirror.forms.form import Form

NAME_MAPPING: Final = TableProperties.DEFAULT_NAME_MAPPING

_CHANGE_TYPE: Final = MappedField(field_id=2147483543, names=["_change_type"], fields=[])
"""Delta's writers leave this column in data files where the change data feed is on, though it is none of the table's.

PyIceberg reads no file that has a column without an id. This is the one that Iceberg has set apart for that name.
"""
_RESERVED: Final = 2147483447  # Ids above it are no column's (Iceberg specification, "Reserved Field IDs").


@dataclass(frozen=True, slots=True)
class Known:
    """Every id that the mirror has used, whatever has become of its column."""

    ids: Mapping[Path, int] = field(default_factory=dict)  # of columns, by physical path
    last_column_id: int = 0
    schemas: tuple[Schema, ...] = ()
    specs: tuple[PartitionSpec, ...] = ()
    last_partition_id: int = PARTITION_FIELD_ID_START - 1
    preferred: Mapping[Path, int] = field(default_factory=dict)  # ids that a column is to get if it is new

    @staticmethod
    def nothing() -> Known:
        """Return what a table that is yet to be made has used."""
        return Known()

    @staticmethod
    def of(metadata: TableMetadata) -> Known:
        """Return what the table has used; where its name mapping lacks a column, by the name in its schemas."""
        said = metadata.properties.get(NAME_MAPPING)
        ids = dict(_mapped(parse_mapping_from_json(said).root, ())) if said else {}
        named = set(ids.values())
        for schema in metadata.schemas:
            lacking = {path: id_ for path, id_ in _in_type(schema.as_struct(), ()) if id_ not in named}
            ids = {**lacking, **ids}
        return Known(
            ids=ids,
            last_column_id=max(metadata.last_column_id, *ids.values(), 0),
            schemas=tuple(metadata.schemas),
            specs=tuple(metadata.partition_specs),
            last_partition_id=max(metadata.last_partition_id or 0, PARTITION_FIELD_ID_START - 1),
        )

    def preferring(self, metadata: Metadata) -> Known:
        """Return the same, with the ids that a *later* version gives to columns, by column mapping mostly, put aside.

        A table that has no column mapping yet, and will, can be mirrored from its beginning only if its columns get
        those ids at once.
        """
        preferred = {**self.preferred, **given_ids(metadata)}
        last = max(self.last_column_id, mapped_id_max(metadata), *preferred.values(), 0)
        return replace(self, preferred=preferred, last_column_id=last)

    def with_form(self, form: Form) -> Known:
        """Return what is used once the table has that form."""
        schema, spec = form.schema, form.spec
        ids = dict(_mapped(form.name_mapping.root, ()))
        return replace(
            self,
            ids=ids,
            last_column_id=max(self.last_column_id, *ids.values(), 0),
            schemas=self.schemas if schema in self.schemas else (*self.schemas, schema),
            specs=self.specs if spec in self.specs else (*self.specs, spec),
            last_partition_id=max(self.last_partition_id, spec.last_assigned_field_id),
        )


def name_mapping(ids: Mapping[Path, int]) -> NameMapping:
    """Return the ids by physical path as Iceberg's name mapping."""
    inner: dict[Path, list[Path]] = {}
    for path in ids:
        inner.setdefault(path[:-1], []).append(path)

    def entries(outer: Path) -> list[MappedField]:
        return [
            MappedField(field_id=ids[path], names=[path[-1]], fields=entries(path)) for path in inner.get(outer, ())
        ]

    reserved = [] if ("_change_type",) in ids else [_CHANGE_TYPE]
    return NameMapping([*entries(()), *reserved])


def _mapped(entries: Sequence[MappedField], outer: Path) -> Iterator[tuple[Path, int]]:
    for entry in entries:
        for name in entry.names:
            if entry.field_id is not None and entry.field_id <= _RESERVED:
                yield (*outer, name), entry.field_id
            yield from _mapped(entry.fields, (*outer, name))


def _in_type(kind: IcebergType, outer: Path) -> Iterator[tuple[Path, int]]:
    match kind:
        case StructType():
            inner = [(each.name, each.field_id, each.field_type) for each in kind.fields]
        case ListType():
            inner = [(ELEMENT, kind.element_id, kind.element_type)]
        case MapType():
            inner = [(KEY, kind.key_id, kind.key_type), (VALUE, kind.value_id, kind.value_type)]
        case _:
            inner = []
    for name, field_id, child in inner:
        yield (*outer, name), field_id
        yield from _in_type(child, (*outer, name))
