"""What the Iceberg schema of a version of a Delta table is, and which schemas are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.table.name_mapping import parse_mapping_from_json
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import ListType, MapType

from seriatim.errors import DeltaLogError, UnsupportedFeatureError
from seriatim.mirror.delta.actions import Metadata
from seriatim.mirror.forms.known import NAME_MAPPING
from seriatim.mirror.forms.schemas import Form, Known
from tests.mirror.forms_support import LONG, MAPPED, SOURCE, field, form, mapped, struct, table

KINDS = {
    "byte": "int",
    "short": "int",
    "integer": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "decimal(12,2)": "decimal(12, 2)",
    "decimal(38,38)": "decimal(38, 38)",
    "string": "string",
    "binary": "binary",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}
NESTED = {
    "type": "map",
    "keyType": "string",
    "valueType": {"type": "array", "elementType": struct(field("x", "long")), "containsNull": True},
    "valueContainsNull": True,
}


def ids(form: Form) -> dict[str, int]:
    """Every id of the schema by the full name of its column."""
    return {form.schema.find_column_name(field_id) or "": field_id for field_id in form.schema.field_ids}


def after(*versions: Metadata, known: Known | None = None) -> tuple[list[Form], Known]:
    """The forms of versions that follow each other."""
    known, forms = known or Known.nothing(), []
    for metadata in versions:
        forms.append(form(metadata, known))
        known = known.with_form(forms[-1])
    return forms, known


def landed(form: Form, last_column_id: int) -> TableMetadataV2:
    """The metadata of an Iceberg table of that form, as a catalog gives it back."""
    return TableMetadataV2.model_validate_json(
        json.dumps(
            {
                "format-version": 2,
                "table-uuid": "00000000-0000-0000-0000-000000000001",
                "location": "file:///iceberg/t",
                "last-sequence-number": 0,
                "last-updated-ms": 0,
                "last-column-id": last_column_id,
                "schemas": [json.loads(form.schema.model_dump_json())],
                "current-schema-id": form.schema.schema_id,
                "partition-specs": [json.loads(form.spec.model_dump_json())],
                "default-spec-id": form.spec.spec_id,
                "last-partition-id": max(999, form.spec.last_assigned_field_id),
                "sort-orders": [{"order-id": 0, "fields": []}],
                "default-sort-order-id": 0,
                "properties": {NAME_MAPPING: form.name_mapping.model_dump_json()},
            }
        )
    )


@pytest.mark.parametrize(("delta", "iceberg"), KINDS.items())
def test_each_primitive_type_has_its_equal(delta: str, iceberg: str) -> None:
    """The protocol's table of primitive types, against Iceberg's."""
    assert str(form(table(field("a", delta))).schema.find_type("a")) == iceberg


def test_columns_are_numbered_in_order_with_what_is_within_them() -> None:
    """Ids are new for every field, element, key and value, and nothing is required but keys."""
    got = form(table(field("s", struct(field("a", "long"), field("b", LONG))), field("m", NESTED), field("z", "date")))

    assert ids(got) == {
        "s": 1,
        "s.a": 2,
        "s.b": 3,
        "s.b.element": 4,
        "m": 5,
        "m.key": 6,
        "m.value": 7,
        "m.value.element": 8,
        "m.value.element.x": 9,
        "z": 10,
    }
    map_type, list_type = got.schema.find_type("m"), got.schema.find_type("s.b")
    assert isinstance(map_type, MapType)
    assert isinstance(list_type, ListType)
    assert not map_type.value_required
    assert not list_type.element_required


def test_no_column_is_required() -> None:
    """PyIceberg refuses to read a file without a required column, and the files lack partition columns."""
    never_null = {"nullable": False}
    got = form(table(field("a", "long") | never_null, field("s", struct(field("x", "long") | never_null))))

    assert not got.schema.find_field("a").required
    assert not got.schema.find_field("s.x").required


def test_comments_become_docs() -> None:
    """Iceberg's name for them."""
    assert form(table(field("a", "long", comment="so many"))).schema.find_field("a").doc == "so many"


@pytest.mark.parametrize("name", ["a.b", "a b", "A", "é", "`q`", "x=1/y", "名"])
def test_odd_names_survive(name: str) -> None:
    """Delta allows nearly every character in a name, under column mapping all."""
    got = form(table(field(name, "string"), by=(name,)))

    assert got.schema.find_field(name).field_id == 1
    assert got.spec.fields[0].name == name
    assert got.name_mapping.root[0].names == [name]


def test_names_that_differ_in_case_alone_are_two_columns() -> None:
    """PyIceberg holds them apart."""
    assert ids(form(table(field("a", "long"), field("A", "long")))) == {"a": 1, "A": 2}


def test_names_that_pyiceberg_cannot_tell_apart_are_refused() -> None:
    """A dot in a name may read as a path."""
    with pytest.raises(UnsupportedFeatureError, match=r"a\.b"):
        form(table(field("a.b", "long"), field("a", struct(field("b", "long")))))


@pytest.mark.parametrize(
    "kind",
    [
        *(
            "void",
            "null",
            "variant",
            "interval",
            "interval year to month",
            "geometry",
            "timestampNanos",
            "decimal(39,0)",
        ),
        {"type": "udt", "class": "x"},
    ],
)
def test_a_type_without_an_equal_is_refused_by_the_path_of_its_column(kind: object) -> None:
    """Nested ones too."""
    deep = struct(field("b", {"type": "array", "elementType": kind, "containsNull": True}))
    with pytest.raises(UnsupportedFeatureError) as refused:
        form(table(field("ok", "long"), field("a.a", deep)))

    assert refused.value.column == "a.a.b.element"
    assert refused.value.version == 7
    assert refused.value.source == SOURCE
    assert (kind if isinstance(kind, str) else "udt") in refused.value.feature


def test_known_columns_keep_their_ids_and_new_ones_get_the_next() -> None:
    """Also where the columns change places, as delta-rs does with schema_mode=merge."""
    (_, second), _ = after(
        table(field("a", "long"), field("l", LONG)),
        table(field("new", LONG), field("l", LONG), field("a", "long")),
    )

    assert ids(second) == {"new": 4, "new.element": 5, "l": 2, "l.element": 3, "a": 1}


def test_a_name_that_comes_again_has_its_id_again_whatever_its_type() -> None:
    """A name in a file can stand for one id alone."""
    (_, without, again), known = after(
        table(field("a", "long"), field("b", "long")),
        table(field("b", "long")),
        table(field("b", "long"), field("a", LONG)),
    )

    assert ids(without) == {"b": 2}
    assert ids(again) == {"b": 2, "a": 1, "a.element": 3}
    assert known.last_column_id == 3


def _columns(form: Form) -> list[dict[str, Any]]:
    """Return what the name mapping says of the table's own columns."""
    said: list[dict[str, Any]] = json.loads(form.name_mapping.model_dump_json())
    assert said[-1]["names"] == ["_change_type"]
    return said[:-1]


def test_the_column_that_a_change_data_feed_leaves_in_files_has_the_id_that_iceberg_has_set_apart_for_it() -> None:
    """PyIceberg reads no file that has a column without an id."""
    assert form(table(field("a", "long"))).name_mapping.root[-1].field_id == 2147483543
    assert ids(form(table(field("_change_type", "long")))) == {"_change_type": 1}
    assert [each.field_id for each in form(table(field("_change_type", "long"))).name_mapping.root] == [1]


def test_the_name_mapping_has_every_name_that_was_ever_used() -> None:
    """A file of an older version names columns that are dropped since, and PyIceberg fails on a name without an id."""
    (_, second), _ = after(
        table(field("a", "long"), field("m", NESTED)), table(field("b", "long"), field("m", struct(field("y", "long"))))
    )

    assert _columns(second) == [
        {"names": ["a"], "field-id": 1},
        {
            "names": ["m"],
            "field-id": 2,
            "fields": [
                {"names": ["key"], "field-id": 3},
                {
                    "names": ["value"],
                    "field-id": 4,
                    "fields": [
                        {
                            "names": ["element"],
                            "field-id": 5,
                            "fields": [{"names": ["x"], "field-id": 6}],
                        }
                    ],
                },
                {"names": ["y"], "field-id": 8},
            ],
        },
        {"names": ["b"], "field-id": 7},
    ]


def test_a_table_that_was_landed_knows_what_the_run_before_knew() -> None:
    """The next process has the Iceberg table's metadata alone."""
    (first,), known = after(table(field("a", "long"), field("p", "string"), field("m", NESTED), by=("p",)))
    found = Known.of(landed(first, last_column_id=known.last_column_id))

    assert found == known
    again = form(table(field("a", "long"), field("p", "string"), field("m", NESTED), by=("p",)), found)
    assert again == first
    assert again.schema.schema_id == first.schema.schema_id
    assert parse_mapping_from_json(first.name_mapping.model_dump_json()) == first.name_mapping


def test_ids_are_known_from_the_schemas_where_the_name_mapping_is_gone() -> None:
    """Somebody may have taken the property away."""
    first = form(table(field("a", "long"), field("m", NESTED)))
    metadata = landed(first, last_column_id=9)

    found = Known.of(metadata.model_copy(update={"properties": {}}))

    assert found.ids == Known.of(metadata).ids
    assert found.last_column_id == 9


def test_a_table_without_columns_has_a_form() -> None:
    """A streaming table may be made before its columns are known."""
    empty = form(table())

    assert not empty.schema.fields
    assert parse_mapping_from_json(empty.name_mapping.model_dump_json()) == empty.name_mapping


def test_an_earlier_schema_is_used_again() -> None:
    """Iceberg knows schemas by their id."""
    one, two = table(field("a", "long")), table(field("a", "long"), field("b", "long"))
    forms, _ = after(one, two, one)

    assert [form.schema.schema_id for form in forms] == [0, 1, 0]


def test_column_mapping_gives_ids_and_physical_names() -> None:
    """They stand in the files; the schema has the logical names."""
    got = form(
        table(
            mapped("a b", "col-1", 4, struct(mapped("x", "col-2", 2, "long"))),
            mapped("c", "c", 7, "date"),
            configuration={**MAPPED, "delta.columnMapping.maxColumnId": "9"},
        )
    )

    assert ids(got) == {"a b": 4, "a b.x": 2, "c": 7}
    assert _columns(got) == [
        {"names": ["col-1"], "field-id": 4, "fields": [{"names": ["col-2"], "field-id": 2}]},
        {"names": ["c"], "field-id": 7},
    ]


def test_a_rename_under_column_mapping_keeps_the_id_and_a_new_column_of_the_old_name_has_another() -> None:
    """Only the physical name is the column."""
    (_, second), _ = after(
        table(mapped("a", "a", 1, "long"), configuration=MAPPED),
        table(mapped("b", "a", 1, "long"), mapped("a", "col-9", 2, "string"), configuration=MAPPED),
    )

    assert ids(second) == {"b": 1, "a": 2}
    assert [(each.names, each.field_id) for each in second.name_mapping.root[:-1]] == [(["a"], 1), (["col-9"], 2)]


def test_what_is_left_of_a_column_mapping_that_was_taken_away_is_not_looked_at() -> None:
    """In mode none the files have the logical names."""
    got = form(table(mapped("a", "col-1", 5, "long"), configuration={"delta.columnMapping.mode": "none"}))

    assert ids(got) == {"a": 1}
    assert got.name_mapping.root[0].names == ["a"]


@pytest.mark.parametrize("key", ["delta.columnMapping.nested.ids", "parquet.field.nested.ids"])
def test_what_lists_and_maps_hold_has_the_nested_ids(key: str) -> None:
    """They are given by the nearest field above, by the physical names down from it."""
    inner = struct(mapped("y", "col-y", 3, LONG, **{key: {"col-y.element": 20}}))
    kind = {"type": "map", "keyType": "string", "valueType": {"type": "array", "elementType": inner}}
    nested = {"col-m.key": 11, "col-m.value": 12, "col-m.value.element": 13}
    got = form(table(mapped("m", "col-m", 1, kind, **{key: nested}), configuration=MAPPED))

    assert ids(got) == {
        "m": 1,
        "m.key": 11,
        "m.value": 12,
        "m.value.element": 13,
        "m.value.element.y": 3,
        "m.value.element.y.element": 20,
    }


def test_a_mapped_list_without_nested_ids_is_refused_by_name() -> None:
    """DuckDB would read NULL for each of its elements."""
    with pytest.raises(UnsupportedFeatureError, match="none for the element") as refused:
        form(table(mapped("s", "col-s", 1, struct(mapped("l", "col-l", 2, LONG))), configuration=MAPPED))

    assert refused.value.column == "s.l"


def test_ids_that_are_in_the_files_are_taken_without_column_mapping_too() -> None:
    """delta-rs keeps those of the Parquet that its rows were read from, and readers would trust them before names."""
    got = form(
        table(
            field("a", "long", **{"parquet.field.id": 2}),
            field("s", struct(field("x", "long", **{"parquet.field.id": 9})), **{"parquet.field.id": 1}),
        )
    )

    assert ids(got) == {"a": 2, "s": 1, "s.x": 9}


@pytest.mark.parametrize(
    ("second", "column"),
    [
        (field("b", "long"), "b"),
        (field("b", LONG, **{"parquet.field.id": 2}), "b"),
        (field("b", struct(field("x", "long")), **{"parquet.field.id": 2}), "b.x"),
        (field("b", "long", **{"parquet.field.id": 1}), "b"),
    ],
)
def test_ids_in_the_files_that_are_not_on_everything_or_not_unique_are_refused(
    second: dict[str, object], column: str
) -> None:
    """DuckDB reads NULL for what has no id in a file that has some."""
    with pytest.raises(UnsupportedFeatureError, match="field id") as refused:
        form(table(field("a", "long", **{"parquet.field.id": 1}), second))

    assert refused.value.column == column


def test_column_mapping_that_agrees_with_the_ids_given_goes_on() -> None:
    """A table of plain columns is numbered by Delta as it is by us."""
    (_, second), _ = after(
        table(field("a", "long"), field("b", "long")),
        table(mapped("a", "a", 1, "long"), mapped("b2", "b", 2, "long"), configuration=MAPPED),
    )

    assert ids(second) == {"a": 1, "b2": 2}


@pytest.mark.parametrize("numbers", [(2, 1), (1, 3), (5, 2)])
def test_column_mapping_with_other_ids_is_refused_and_says_what_helps(numbers: tuple[int, int]) -> None:
    """The ids of an Iceberg column cannot change."""
    known = after(table(field("a", "long"), field("b", "long"), field("c", "long")))[1]
    later = table(*(mapped(n, n, i, "long") for n, i in zip("ab", numbers, strict=True)), configuration=MAPPED)
    with pytest.raises(UnsupportedFeatureError, match="start") as refused:
        form(later, known)

    assert refused.value.column in ("a", "b")


def test_ids_that_come_later_can_be_put_aside_from_the_beginning() -> None:
    """Then the version that brings column mapping can land."""
    first = table(field("a", "long"), field("old", "long"), field("b", "long"))
    later = table(
        mapped("a", "a", 2, "long"),
        mapped("b", "b", 1, "long"),
        configuration={**MAPPED, "delta.columnMapping.maxColumnId": "5"},
    )
    forms, _ = after(first, later, known=Known.nothing().preferring(later))

    assert ids(forms[0]) == {"a": 2, "old": 6, "b": 1}
    assert ids(forms[1]) == {"a": 2, "b": 1}


def test_nothing_is_put_aside_for_a_table_without_column_mapping() -> None:
    """What is left of one means nothing."""
    later = table(mapped("a", "a", 9, "long"))

    assert Known.nothing().preferring(later) == Known.nothing()


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("byte", "short"),
        ("integer", "long"),
        ("short", "long"),
        ("float", "double"),
        ("decimal(10,2)", "decimal(20,2)"),
    ],
)
def test_a_widening_that_iceberg_has_too_goes_on(before: str, now: str) -> None:
    """Readers promote the values of the older files."""
    change: dict[str, object] = {"delta.typeChanges": [{"fromType": before, "toType": now, "tableVersion": 2}]}

    assert form(table(field("a", now, **change))).schema.find_field("a").field_id == 1


@pytest.mark.parametrize(
    ("before", "now"),
    [
        *(("integer", "double"), ("long", "double"), ("byte", "decimal(10,0)"), ("long", "decimal(20,0)")),
        *(("date", "timestamp_ntz"), ("decimal(10,2)", "decimal(12,4)"), ("integer", "string"), ("mystery", "long")),
    ],
)
def test_a_widening_that_iceberg_has_not_is_refused(before: str, now: str) -> None:
    """The older files could not be read as the new type."""
    change: dict[str, object] = {"delta.typeChanges": [{"fromType": before, "toType": now}]}
    with pytest.raises(UnsupportedFeatureError, match="widened") as refused:
        form(table(field("a", now, **change)))

    assert refused.value.column == "a"


def test_a_widening_within_a_list_is_refused_by_its_path() -> None:
    """The change stands at the column, with the way down from it."""
    change: dict[str, object] = {
        "delta.typeChanges": [{"fromType": "integer", "toType": "double", "fieldPath": "element"}]
    }
    with pytest.raises(UnsupportedFeatureError) as refused:
        form(table(field("l", {"type": "array", "elementType": "double"}, **change)))

    assert refused.value.column == "l.element"


def test_another_type_without_a_widening_is_an_overwrite_and_goes_on() -> None:
    """With overwriteSchema no file of the old type is left."""
    forms, _ = after(table(field("a", "long")), table(field("a", "date")))

    assert [str(each.schema.find_type("a")) for each in forms] == ["long", "date"]


def spec(form: Form) -> list[tuple[int, int, str]]:
    """The partition fields: source, id, name."""
    return [(each.source_id, each.field_id, each.name) for each in form.spec.fields]


def test_each_set_of_partition_columns_has_one_spec() -> None:
    """A set that comes again has its spec again, and a column its partition field id."""
    columns = (field("a", "long"), field("b", "long"), field("c", "long"))
    forms, _ = after(*(table(*columns, by=by) for by in [("b",), ("c", "b"), (), ("b",), ("a", "c"), ()]))

    assert [each.spec.spec_id for each in forms] == [0, 1, 2, 0, 3, 2]
    assert [spec(each) for each in forms] == [
        [(2, 1000, "b")],
        [(3, 1001, "c"), (2, 1000, "b")],
        [],
        [(2, 1000, "b")],
        [(1, 1002, "a"), (3, 1001, "c")],
        [],
    ]


def test_a_spec_of_another_transform_is_not_taken_for_ours() -> None:
    """Partition values are those of the column."""
    known = Known(specs=(PartitionSpec(PartitionField(1, 1000, BucketTransform(4), "a")),), last_partition_id=1000)
    got = form(table(field("a", "long"), by=("a",)), known)

    assert got.spec.spec_id == 1
    assert spec(got) == [(1, 1001, "a")]


def test_a_renamed_partition_column_keeps_its_spec_until_another_column_takes_its_name() -> None:
    """Iceberg lets no partition field have the name of a column that it does not come from."""
    a, b, new = mapped("a", "a", 1, "long"), mapped("b", "a", 1, "long"), mapped("a", "n", 2, "long")
    forms, _ = after(
        table(a, by=("a",), configuration=MAPPED),
        table(b, by=("b",), configuration=MAPPED),
        table(b, new, by=("b",), configuration=MAPPED),
    )

    assert [each.spec.spec_id for each in forms] == [0, 0, 1]
    assert spec(forms[2]) == [(1, 1000, "b")]


def test_partition_columns_are_found_in_any_case_and_exactly_first() -> None:
    """Spark does not mind the case."""
    assert spec(form(table(field("A", "long"), field("a", "long"), by=("a",)))) == [(2, 1000, "a")]
    assert spec(form(table(field("Day", "date"), by=("day",)))) == [(1, 1000, "Day")]


def test_a_partition_column_that_is_none_is_a_broken_log() -> None:
    """And not a KeyError."""
    with pytest.raises(DeltaLogError, match="'b'"):
        form(table(field("a", "long"), by=("b",)))


def test_a_nested_partition_column_is_refused() -> None:
    """Iceberg partitions by primitive types alone."""
    with pytest.raises(UnsupportedFeatureError) as refused:
        form(table(field("a", LONG), by=("a",)))

    assert refused.value.column == "a"


def test_a_mapped_column_without_an_id_is_a_broken_log() -> None:
    """The protocol promises one."""
    with pytest.raises(DeltaLogError, match=r"s\.x"):
        form(table(mapped("s", "s", 1, struct(field("x", "long"))), configuration=MAPPED))
