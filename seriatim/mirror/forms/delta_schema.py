"""Reads the JSON of a Delta schema (Delta protocol, "Schema Serialization Format" and "Column Mapping")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from seriatim.mirror.delta.actions import Metadata

Path = tuple[str, ...]
"""Names down to a column as the data files have them; what is in lists and maps is `element`, `key` and `value`."""

ELEMENT: Final = "element"
KEY: Final = "key"
VALUE: Final = "value"

_ID: Final = "delta.columnMapping.id"
_PHYSICAL_NAME: Final = "delta.columnMapping.physicalName"
_NESTED_IDS: Final = ("delta.columnMapping.nested.ids", "parquet.field.nested.ids")  # the second: its older name
_MAX_ID: Final = "delta.columnMapping.maxColumnId"
_TYPE_CHANGES: Final = "delta.typeChanges"


@dataclass(frozen=True, slots=True)
class TypeChange:
    """That the type of a column, or of what is in it, was another once."""

    path: str  # within the column's lists and maps; "": the column itself
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Column:
    """A field of a struct, or the table's column."""

    name: str
    physical_name: str
    mapped_id: int | None  # None: no column mapping
    nested_ids: Mapping[str, int]  # by the physical name and what follows it: `col-7.element`
    kind: Any  # the name of a primitive type, or the JSON of a nested one
    comment: str | None
    type_changes: tuple[TypeChange, ...]


def columns(metadata: Metadata) -> tuple[Column, ...]:
    """Return the table's columns, in order."""
    return tuple(fields(metadata.schema, is_mapped=is_mapped(metadata)))


def fields(struct: Mapping[str, Any], *, is_mapped: bool) -> Iterator[Column]:
    """Yield the fields of a struct, in order; without column mapping, what is left of one is not looked at."""
    for field in struct["fields"]:
        said: Mapping[str, Any] = field.get("metadata") or {}
        nested: Mapping[str, int] = next((said[key] for key in _NESTED_IDS if key in said), {})
        yield Column(
            name=field["name"],
            physical_name=said.get(_PHYSICAL_NAME, field["name"]) if is_mapped else field["name"],
            mapped_id=said.get(_ID) if is_mapped else None,
            nested_ids=nested if is_mapped else {},
            kind=field["type"],
            comment=said.get("comment"),
            type_changes=tuple(_type_changes(said.get(_TYPE_CHANGES) or ())),
        )


def is_mapped(metadata: Metadata) -> bool:
    """Tell whether columns have names of their own in the files."""
    return metadata.column_mapping != "none"


def mapped_ids(metadata: Metadata) -> dict[Path, int]:
    """Return the ids that column mapping gives, by physical path; those in lists and maps too where it gives any."""
    ids: dict[Path, int] = {}
    _collect(metadata.schema, (), ids)
    return ids if is_mapped(metadata) else {}


def mapped_id_max(metadata: Metadata) -> int:
    """Return the greatest id that column mapping has ever given (0: none)."""
    return int(metadata.configuration.get(_MAX_ID, 0)) if is_mapped(metadata) else 0


def _collect(struct: Mapping[str, Any], outer: Path, ids: dict[Path, int]) -> None:
    for column in fields(struct, is_mapped=True):
        path = (*outer, column.physical_name)
        if column.mapped_id is not None:
            ids[path] = column.mapped_id
        _collect_inner(column.kind, path, column, (column.physical_name,), ids)


def _collect_inner(kind: Any, path: Path, column: Column, inner: Path, ids: dict[Path, int]) -> None:  # JSON
    if isinstance(kind, str):
        return
    if kind["type"] == "struct":
        _collect(kind, path, ids)
    for name, child in inner_kinds(kind):
        nested_id = column.nested_ids.get(".".join((*inner, name)))
        if nested_id is not None:
            ids[*path, name] = nested_id
        _collect_inner(child, (*path, name), column, (*inner, name), ids)


def inner_kinds(kind: Mapping[str, Any]) -> Sequence[tuple[str, Any]]:
    """Return what a list or a map holds, by the name that it has in the files; nothing for a struct."""
    match kind["type"]:
        case "array":
            return ((ELEMENT, kind["elementType"]),)
        case "map":
            return ((KEY, kind["keyType"]), (VALUE, kind["valueType"]))
        case _:
            return ()


def _type_changes(said: Sequence[Mapping[str, Any]]) -> Iterator[TypeChange]:
    for change in said:
        yield TypeChange(change.get("fieldPath") or "", str(change["fromType"]), str(change["toType"]))
