"""Gives the Iceberg table a schema, a partition spec and a name mapping for one version of the Delta table.

**Ids.** Under column mapping a column has the id and the physical name that Delta gives it. So it has where the schema
says which ids somebody's Parquet has brought to the files: readers trust ids before names. Else its id is known by its
name: a name that comes again, with whatever type, is the same column, because a file that bears no ids is read by
names, and a name can have but one id. Readers take the schema of the snapshot that they read, so both are read right.

**Every column is optional**, but for the keys of maps. What Delta promises to be never null need not be in a file of an
older version, nor are the values of partition columns in any file, and PyIceberg refuses to read a file that lacks a
required column, although the partition says what it is; and no reader lets an optional column become required.

**Where there are ids in the files they must be on everything**, also on what lists and maps hold, for which Delta gives
ids with IcebergCompatV2 alone. Without, Spark's files have ids on the columns and none within: PyIceberg reads them by
name, but DuckDB 1.5 returns NULL for every element of a list, and fails on a map.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from seriatim.errors import DeltaLogError, UnsupportedFeatureError
from seriatim.mirror.delta.actions import Metadata
from seriatim.mirror.forms import delta_schema, kinds
from seriatim.mirror.forms.delta_schema import ELEMENT, KEY, VALUE, Column, Path
from seriatim.mirror.forms.form import Form
from seriatim.mirror.forms.known import Known, name_mapping
from seriatim.mirror.forms.specs import spec_of

__all__ = ["Form", "Known", "form_of"]


def form_of(source: str, version: int, metadata: Metadata, known: Known) -> Form:
    """Return what the Iceberg table looks like at that version, given what it has used before.

    Raises:
        UnsupportedFeatureError: a column has no equal in Iceberg, or could not be read right.
        DeltaLogError: the table is partitioned by a column that it has not.
    """
    columns = _Columns(source, version, metadata, known)
    schema = columns.schema()
    partitioned_by = [_partition_column(source, version, name, schema) for name in metadata.partition_columns]
    for column in partitioned_by:
        if not column.field_type.is_primitive:
            raise columns.refusal(f"a partition by {column.field_type}", (column.name,))
    return Form(schema, spec_of(partitioned_by, schema.fields, known), name_mapping(columns.ids))


def _partition_column(source: str, version: int, name: str, schema: Schema) -> NestedField:
    """Return a column by its name, which Spark takes in any case."""
    for spelling in (str, str.lower):
        for column in schema.fields:
            if spelling(column.name) == spelling(name):
                return column
    raise DeltaLogError(source, version=version, reason=f"it is partitioned by {name!r}, which is no column")


class _Columns:
    """Translates one schema; `ids` grows by what is new."""

    def __init__(self, source: str, version: int, metadata: Metadata, known: Known) -> None:
        self._source, self._version, self._metadata, self._known = source, version, metadata, known
        self._is_mapped = delta_schema.is_mapped(metadata)
        self._is_numbered = self._is_mapped or bool(delta_schema.given_ids(metadata))
        self.ids = dict(known.ids)
        self._paths = {field_id: path for path, field_id in known.ids.items()}
        self._last = known.last_column_id

    def schema(self) -> Schema:
        """Return the schema: an earlier one if it is the same."""
        fields = self._struct(self._metadata.schema, (), ()).fields
        next_id = max((schema.schema_id for schema in self._known.schemas), default=-1) + 1
        try:
            schema = Schema(*fields, schema_id=next_id)
        except ValueError as err:
            raise self.refusal(f"names that Iceberg cannot tell apart ({err})", ()) from err
        return next((earlier for earlier in self._known.schemas if earlier == schema), schema)

    def refusal(self, feature: str, names: Path) -> UnsupportedFeatureError:
        """Return the error that says what cannot be mirrored, and where."""
        column = ".".join(names) or None
        return UnsupportedFeatureError(self._source, version=self._version, feature=feature, column=column)

    def _struct(self, kind: Mapping[str, Any], path: Path, names: Path) -> StructType:
        fields = delta_schema.fields(kind, is_mapped=self._is_mapped)
        return StructType(*(self._field(column, path, names) for column in fields))

    def _field(self, column: Column, outer: Path, outer_names: Path) -> NestedField:
        path, names = (*outer, column.physical_name), (*outer_names, column.name)
        self._check_type_changes(column, names)
        if self._is_mapped and column.given_id is None:
            reason = f"column {'.'.join(names)!r} has no column mapping id"
            raise DeltaLogError(self._source, version=self._version, reason=reason)
        if self._is_numbered and column.given_id is None:
            raise self.refusal("field ids in its files, but none", names)
        field_id = self._id(path, names, column.given_id)
        kind = self._kind(column.kind, column, (column.physical_name,), path, names)
        return NestedField(field_id, column.name, kind, required=False, doc=column.comment)

    def _kind(self, kind: Any, column: Column, inner: Path, path: Path, names: Path) -> IcebergType:  # JSON
        if isinstance(kind, str):
            primitive = kinds.kind_of(kind)
            if primitive is None:
                raise self.refusal(f"the type {kind}", names)
            return primitive
        match kind["type"]:
            case "struct":
                return self._struct(kind, path, names)
            case "array" | "map":
                return self._list_or_map(kind, column, inner, path, names)
            case other:
                raise self.refusal(f"the type {other}", names)

    def _list_or_map(
        self, kind: Mapping[str, Any], column: Column, inner: Path, path: Path, names: Path
    ) -> ListType | MapType:
        ids: dict[str, int] = {}
        types: dict[str, IcebergType] = {}
        for name, child in delta_schema.inner_kinds(kind):
            at = (*inner, name)
            nested_id = column.nested_ids.get(".".join(at))
            if self._is_numbered and nested_id is None:
                raise self.refusal(f"field ids in its files, but none for the {name} of the {kind['type']},", names)
            ids[name] = self._id((*path, name), (*names, name), nested_id)
            types[name] = self._kind(child, column, at, (*path, name), (*names, name))
        if kind["type"] == "array":
            return ListType(ids[ELEMENT], types[ELEMENT], element_required=False)
        return MapType(ids[KEY], types[KEY], ids[VALUE], types[VALUE], value_required=False)

    def _id(self, path: Path, names: Path, given_id: int | None) -> int:
        """Return the column's id: what its files have, else what it has had, else a new one."""
        known_id = self.ids.get(path)
        if given_id is None:
            return known_id if known_id is not None else self._use(path, self._new_id(path))
        if known_id not in (None, given_id) or self._paths.get(given_id, path) != path:
            raise self.refusal(
                f"the field id {given_id} in its files, where the mirror has given other ids before (one that starts "
                f"over takes these)",
                names,
            )
        return self._use(path, given_id)

    def _new_id(self, path: Path) -> int:
        preferred = self._known.preferred.get(path)
        if preferred is not None and preferred not in self._paths:
            return preferred
        self._last += 1
        return self._last

    def _use(self, path: Path, field_id: int) -> int:
        self.ids[path] = field_id
        self._paths[field_id] = path
        self._last = max(self._last, field_id)
        return field_id

    def _check_type_changes(self, column: Column, names: Path) -> None:
        """Refuse a type that was widened so that Iceberg's readers could not read the older files as the new one."""
        for change in column.type_changes:
            if not kinds.is_readable_as(change.before, change.after):
                inner = tuple(change.path.split(".")) if change.path else ()
                raise self.refusal(f"a type that was widened from {change.before} to {change.after}", (*names, *inner))
