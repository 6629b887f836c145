"""Manifests and manifest lists that we write are those that PyIceberg would have written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import fastavro
import pytest
from pyiceberg.avro.codecs import AvroCompressionCodec
from pyiceberg.io import OutputFile
from pyiceberg.manifest import (
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    ManifestListWriter,
    ManifestWriter,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyiceberg.typedef import TableVersion
from pyiceberg.types import DateType, DecimalType, DoubleType, LongType, NestedField, StringType, UUIDType

from seriatim.commit import avro_output
from seriatim.commit.manifest_writers import manifest_list_writer, manifest_writer
from tests.contract.apply_support import Deposit, call
from tests.faults.avro_files import path_of
from tests.faults.bank import Bank

CODECS: Final[list[AvroCompressionCodec]] = ["deflate", "null", "bzip2"]

SCHEMA: Final = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "bal", LongType()),
    NestedField(3, "day", DateType()),
    NestedField(4, "price", DecimalType(9, 2)),
    NestedField(5, "rate", DoubleType()),
    NestedField(6, "name", StringType()),
    NestedField(7, "key", UUIDType()),
)
SPEC: Final = PartitionSpec(
    PartitionField(1, 1000, BucketTransform(8), "id_bucket"),
    *(PartitionField(number, 998 + number, IdentityTransform(), f"p{number}") for number in (3, 4, 6)),
)


def partitioned(bank: Bank) -> Table:
    """Return a table with values of many types in its partitions, and a null."""
    row = {"id": 1, "bal": 1, "day": dt.date(2020, 2, 29), "price": Decimal("-1.25"), "rate": 0.1, "name": "é" * 20}
    rows = [row, {**row, "id": 2**62, "name": None}, {**row, "id": -5, "day": dt.date(1900, 1, 1)}]
    return bank.create([{**each, "key": b"k" * 16} for each in rows], schema=SCHEMA, spec=SPEC).table()


def entries_of(table: Table) -> list[ManifestEntry]:
    """Return every entry of the head."""
    head = table.current_snapshot()
    assert head is not None
    return [entry for each in head.manifests(table.io) for entry in each.fetch_manifest_entry(table.io)]


def said(output: OutputFile) -> tuple[list[Any], dict[str, Any]]:
    """Return the records and the header of an Avro file, as another reader has them."""
    with path_of(output.location).open("rb") as file:
        reader = fastavro.reader(file)
        return list(reader), dict(reader.metadata)


def written(table: Table, name: str, make: Callable[[OutputFile], ManifestWriter]) -> tuple[OutputFile, ManifestFile]:
    """Write a manifest of what is there: a file that is new, one that is carried on, one that is gone."""
    output = table.io.new_output(f"{table.location()}/metadata/{name}.avro")
    entries = entries_of(table)
    with make(output) as writer:
        for number, entry in enumerate(entries * 3):
            entry.snapshot_id = 7
            (writer.add, writer.existing, writer.delete)[number % 3](entry)
    return output, writer.to_manifest_file()


def told(manifest: ManifestFile) -> list[str]:
    """Return what a list says of a manifest, but for where it is and how long."""
    return [repr(each) for each in manifest._data[2:]]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", [1, 2])
def test_a_manifest_is_the_one_that_pyiceberg_writes(
    empty_bank: Bank, version: TableVersion, codec: AvroCompressionCodec
) -> None:
    """The same records and the same header, and the same is told to the list, but for the size of the file."""
    table = partitioned(empty_bank)
    spec, schema = table.spec(), table.schema()

    theirs, listed = written(table, "theirs", lambda output: write_manifest(version, spec, schema, output, 7, codec))
    ours, also_listed = written(
        table, "ours", lambda output: manifest_writer(version, ManifestContent.DATA, spec, schema, output, 7, codec)
    )

    assert said(ours) == said(theirs)
    assert len(said(ours)[0]) == 9
    assert also_listed.manifest_length == path_of(ours.location).stat().st_size
    assert told(also_listed) == told(listed)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_manifest_list_is_the_one_that_pyiceberg_writes(
    empty_bank: Bank, version: TableVersion, codec: AvroCompressionCodec, count: int
) -> None:
    """An empty one, too, which PyIceberg must be able to read."""
    table = partitioned(empty_bank)
    head = table.current_snapshot()
    assert head is not None
    manifests = (head.manifests(table.io) * 3)[:count]
    theirs, ours = (table.io.new_output(f"{table.location()}/metadata/{name}.avro") for name in ("theirs", "ours"))

    def write(writer: ManifestListWriter) -> None:
        with writer:
            writer.add_manifests(manifests)

    write(write_manifest_list(version, theirs, 7, 6, 5, codec))
    write(manifest_list_writer(version, ours, 7, 6, 5, codec))

    assert said(ours) == said(theirs)
    copy = head.model_copy(update={"manifest_list": ours.location})
    assert [each.manifest_path for each in copy.manifests(table.io)] == [each.manifest_path for each in manifests]


def test_many_entries_are_read_back(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is a block: here, every few entries."""
    monkeypatch.setattr(avro_output, "_BLOCK_BYTES", 500)
    table = bank.table()
    (entry,) = entries_of(table)
    output = table.io.new_output(f"{table.location()}/metadata/many.avro")

    with manifest_writer(2, ManifestContent.DATA, table.spec(), table.schema(), output, 7, "deflate") as writer:
        for _ in range(100):
            writer.existing(entry)

    read = writer.to_manifest_file().fetch_manifest_entry(table.io)
    assert len(read) == len(said(output)[0]) == 100
    assert {each.data_file.file_path for each in read} == {entry.data_file.file_path}


def test_what_cannot_be_written_leaves_no_file(bank: Bank) -> None:
    """Half a manifest is nobody's."""
    table = bank.table()
    output = table.io.new_output(f"{table.location()}/metadata/half.avro")

    with (
        pytest.raises(ValueError, match="empty manifest"),
        manifest_writer(2, ManifestContent.DATA, table.spec(), table.schema(), output, 7, "deflate"),
    ):
        pass

    assert not path_of(output.location).exists()


def test_a_commit_is_read_by_others(bank: Bank) -> None:
    """Each file of a commit by the reader of fastavro, each number in it by PyIceberg."""
    call(bank, Deposit(5))
    table = bank.table()
    head = table.current_snapshot()
    assert head is not None

    (listed,) = said(table.io.new_output(head.manifest_list))[0]
    records = said(table.io.new_output(listed["manifest_path"]))[0]

    assert [record["status"] for record in records] == [1, 2]
    assert listed["added_snapshot_id"] == records[0]["snapshot_id"] == head.snapshot_id
    assert bank.balances()[1] == 105
