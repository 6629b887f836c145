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
_FILE_ID: Final = "parquet.field.id"  # Spark and delta-rs write it to the files, column mapping or not.
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
    given_id: (
        int | None
    )  # in the files, by column mapping or from the Parquet that rows came from; None: they have none
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
        given_id = said.get(_ID if is_mapped else _FILE_ID)
        nested: Mapping[str, int] = next((said[key] for key in _NESTED_IDS if key in said), {})
        yield Column(
            name=field["name"],
            physical_name=said.get(_PHYSICAL_NAME, field["name"]) if is_mapped else field["name"],
            given_id=given_id,
            nested_ids=nested if given_id is not None else {},
            kind=field["type"],
            comment=said.get("comment"),
            type_changes=tuple(_type_changes(said.get(_TYPE_CHANGES) or ())),
        )


def is_mapped(metadata: Metadata) -> bool:
    """Tell whether columns have names of their own in the files."""
    return metadata.column_mapping != "none"


def given_ids(metadata: Metadata) -> dict[Path, int]:
    """Return the ids that the files have, by physical path (empty: none is given, and they are read by name)."""
    return dict(_given(metadata.schema, (), is_mapped(metadata)))


def mapped_id_max(metadata: Metadata) -> int:
    """Return the greatest id that column mapping has ever given (0: none)."""
    return int(metadata.configuration.get(_MAX_ID, 0)) if is_mapped(metadata) else 0


def _given(struct: Mapping[str, Any], outer: Path, is_mapped: bool) -> Iterator[tuple[Path, int]]:
    for column in fields(struct, is_mapped=is_mapped):
        path = (*outer, column.physical_name)
        if column.given_id is not None:
            yield path, column.given_id
        yield from _given_within(column, column.kind, path, len(outer), is_mapped)


def _given_within(column: Column, kind: Any, path: Path, at: int, is_mapped: bool) -> Iterator[tuple[Path, int]]:
    """Yield what is in a type at that path, which is within the column whose own name is the `at`-th of the path."""
    if isinstance(kind, str):
        return
    if kind["type"] == "struct":
        yield from _given(kind, path, is_mapped)
    for name, child in inner_kinds(kind):
        inner = (*path, name)
        nested_id = column.nested_ids.get(".".join(inner[at:]))
        if nested_id is not None:
            yield inner, nested_id
        yield from _given_within(column, child, inner, at, is_mapped)


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
