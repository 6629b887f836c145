"""What a file that a Delta log adds is to Iceberg."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.conversions import from_bytes
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus, write_manifest
from pyiceberg.typedef import Record

from seriatim.errors import DeltaLogError
from seriatim.mirror.delta.actions import DeletionVector, Metadata
from seriatim.mirror.forms.data_files import needs_row_count
from tests.mirror.forms_support import LONG, MAPPED, added, field, file_of, form, mapped, struct, table

WIDE = table(
    field("id", "long"),
    field("name", "string"),
    field("s", struct(field("x", "decimal(10,2)"), field("deep", struct(field("y", "date"))))),
    field("l", LONG),
    field("p q.é/", "decimal(10,2)"),
    by=("p q.é/",),
)
STATS: dict[str, Any] = {
    "numRecords": 5,
    "minValues": {"id": 1, "name": "a", "s": {"x": Decimal("1.5"), "deep": {"y": "1970-01-02"}}, "gone": 9},
    "maxValues": {"id": 9, "name": "z", "s": {"x": 2, "deep": {"y": "1970-01-03"}}, "gone": 9},
    "nullCount": {"id": 0, "name": 5, "s": {"x": 2, "deep": {"y": 1}}, "l": 3, "gone": 0},
}
VALUES = {"p q.é/": "7"}
VECTOR = DeletionVector("u", "x", 10, 2, 1)


def through_a_manifest(metadata: Metadata, file: DataFile, folder: Path) -> DataFile:
    """The file as PyIceberg reads it again."""
    io, shape = PyArrowFileIO(), form(metadata)
    output = io.new_output(f"file://{folder}/manifest.avro")
    with write_manifest(2, shape.spec, shape.schema, output, 1, "deflate") as writer:
        writer.add_entry(ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=1, data_file=file))
    (entry,) = writer.to_manifest_file().fetch_manifest_entry(io)
    return entry.data_file


def test_a_file_says_what_the_log_says(tmp_path: Path) -> None:
    """Through a manifest, with a partition column whose name Avro does not allow."""
    made = file_of(WIDE, added(STATS, VALUES))
    read = through_a_manifest(WIDE, made, tmp_path)
    ids = {form(WIDE).schema.find_column_name(each): each for each in form(WIDE).schema.field_ids}

    assert made.spec_id == 0
    for file in (made, read):
        assert file.content == DataFileContent.DATA
        assert file.file_path == "file:///delta/t/a.parquet"
        assert file.file_format == FileFormat.PARQUET
        assert file.partition == Record(Decimal("7.00"))
        assert (file.record_count, file.file_size_in_bytes, file.sort_order_id) == (5, 100, None)
        assert file.value_counts == dict.fromkeys((ids["id"], ids["name"], ids["s.x"], ids["s.deep.y"]), 5)
        assert file.null_value_counts == {ids["id"]: 0, ids["name"]: 5, ids["s.x"]: 2, ids["s.deep.y"]: 1}
        assert not file.nan_value_counts
        assert bounds(file.lower_bounds) == {"id": 1, "name": "a", "s.x": Decimal("1.50"), "s.deep.y": 1}
        assert bounds(file.upper_bounds) == {"id": 9, "name": "z", "s.x": Decimal("2.00"), "s.deep.y": 2}


def bounds(said: dict[int, bytes]) -> dict[str, object]:
    """Bounds of the wide table by the name of the column."""
    schema = form(WIDE).schema
    found: dict[str, object] = {}
    for field_id, value in said.items():
        kind: Any = schema.find_type(field_id)
        found[schema.find_column_name(field_id) or ""] = from_bytes(kind, value)
    return found


PARTITIONS = [
    *(
        ("string", "a/b%c=d&e é"),
        ("boolean", "true"),
        ("long", "-1"),
        ("double", "NaN"),
        ("float", "1.1"),
        ("date", "2020-01-01"),
    ),
    *(
        ("timestamp", "1960-01-01 00:00:00.000001"),
        ("timestamp_ntz", "2020-01-01T00:00:00"),
        ("binary", r"\u0000\u00ff"),
    ),
    *(("decimal(38,9)", "-1.000000001"), ("string", None)),
]


@pytest.mark.parametrize(("kind", "text"), PARTITIONS)
def test_partition_values_are_the_same_after_a_manifest(kind: str, text: str | None, tmp_path: Path) -> None:
    """A file is deleted by its partition too, so the two must be equal."""
    metadata = table(field("p", kind), field("a", "long"), by=("p",))
    made = file_of(metadata, added({"numRecords": 1}, {"p": text}))
    read = through_a_manifest(metadata, made, tmp_path)

    assert repr(read.partition) == repr(made.partition)


def test_physical_names_are_those_of_the_statistics() -> None:
    """Under column mapping the logical ones are for people alone."""
    metadata = table(
        mapped("a", "col-a", 3, "long"),
        mapped("col-a", "col-s", 4, struct(mapped("x", "col-x", 5, "long"))),
        configuration=MAPPED,
    )
    said = {"col-a": 1, "col-s": {"col-x": 2}, "a": 99}
    file = file_of(metadata, added({"numRecords": 3, "minValues": said, "nullCount": {"col-s": {"col-x": 1}}}))

    assert {each: int.from_bytes(value, "little") for each, value in file.lower_bounds.items()} == {3: 1, 5: 2}
    assert file.null_value_counts == {5: 1}


@pytest.mark.parametrize(
    ("nulls", "is_tight", "vector", "expected"),
    [
        *((2, True, None, 2), (2, None, None, 2), (0, None, None, 0), (5, None, None, 5), (6, None, None, None)),
        *((2, False, None, None), (0, False, None, 0), (5, False, VECTOR, 5), (2, True, VECTOR, None)),
        *((-1, True, None, None), (True, True, None, None), (None, True, None, None), ({"x": 1}, True, None, None)),
    ],
)
def test_counts_of_nulls_are_used_as_far_as_they_are_certain(
    nulls: object, is_tight: bool | None, vector: DeletionVector | None, expected: int | None
) -> None:
    """With loose bounds the protocol vouches for none and for all alone."""
    stats = {"numRecords": 5, "nullCount": {"a": nulls}} | ({} if is_tight is None else {"tightBounds": is_tight})
    file = file_of(table(field("a", "long")), added(stats, deletion_vector=vector))

    assert file.null_value_counts.get(1) == expected
    assert file.value_counts.get(1) == (None if expected is None else 5)


def test_bounds_of_a_file_with_a_deletion_vector_are_kept() -> None:
    """They hold for all rows that were ever in it."""
    stats = {"numRecords": 5, "minValues": {"a": 1}, "maxValues": {"a": 9}, "tightBounds": False}
    file = file_of(table(field("a", "long")), added(stats, deletion_vector=VECTOR))

    assert file.record_count == 5
    assert set(file.lower_bounds) == set(file.upper_bounds) == {1}


@pytest.mark.parametrize("stats", [None, {}, {"numRecords": None}, {"numRecords": -1}, {"minValues": {"a": 1}}])
def test_a_file_without_a_number_of_rows_must_be_asked(stats: dict[str, Any] | None) -> None:
    """Iceberg demands the number."""
    add, metadata = added(stats), table(field("a", "long"))

    assert needs_row_count(add)
    assert file_of(metadata, add, rows=4).record_count == 4
    with pytest.raises(DeltaLogError, match=r"a\.parquet") as refused:
        file_of(metadata, add)
    assert refused.value.version == 7


def test_a_number_of_rows_that_the_log_has_is_the_one() -> None:
    """Nobody need open the file."""
    add = added({"numRecords": 0})

    assert not needs_row_count(add)
    assert file_of(table(field("a", "long")), add, rows=4).record_count == 0


@pytest.mark.parametrize("side", ["minValues", "maxValues", "nullCount"])
@pytest.mark.parametrize("said", [None, 5, [], {"s": 5}, {"s": {"x": {}}}, {"a": {"x": 1}}, {"a": []}])
def test_statistics_of_another_shape_are_passed_over(side: str, said: object) -> None:
    """A file may have been written under another schema."""
    metadata = table(field("a", "long"), field("s", struct(field("x", "long"))))
    file = file_of(metadata, added({"numRecords": 5, side: said}))

    for known in (file.lower_bounds, file.upper_bounds, file.null_value_counts, file.value_counts):
        assert not known
