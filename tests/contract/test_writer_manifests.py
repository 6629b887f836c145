"""Which manifests a commit leaves: few, within the table's bounds, without dead ones, and with all that they held."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyiceberg
import pytest
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.manifest import DATA_FILE_TYPE, DEFAULT_READ_VERSION, DataFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, LongType, NestedField

from seriatim.commit import Append, Change, Delete, NoChange, Rewrite
from seriatim.errors import InvalidChangeError
from tests.contract.apply_support import Deposit, call
from tests.contract.writer_checks import check_commit, check_inspection
from tests.contract.writer_model import SCHEMA, SPECS, World, append, delete, drop_column, repartition, rewrite
from tests.faults.avro_files import Status, Written, WrittenSnapshot, path_of
from tests.faults.bank import Bank
from tests.faults.delete_files import delete_equal, delete_positions


def accounts(*rows: tuple[int, int]) -> pa.Table:
    return pa.table({"id": pa.array([id_ for id_, _ in rows], pa.int64()), "bal": [bal for _, bal in rows]})


def now(bank: Bank) -> Written:
    return Written.at(bank.table().metadata_location)


def append_one(bank: Bank, id_: int, **options: Any) -> None:
    call(bank, lambda base: Append(accounts((id_, id_))), **options)


def manifest_counts(bank: Bank, appends: int, *, every: int = 1) -> list[int]:
    """Append as often, and return how many manifests the table has after each time, or after every tenth."""
    counts = []
    for number in range(1, appends + 1):
        append_one(bank, 100 + number)
        if number % every:
            continue
        counts.append(len(now(bank).head().manifests))
    return counts


def test_manifests_stay_few(bank: Bank) -> None:
    """About log2(n) after n appends, so that neither a scan nor a commit slows down with the number of commits."""
    counts = manifest_counts(bank, 40)

    assert all(count <= math.log2(number) + 2 for number, count in enumerate(counts, 1))
    assert len(now(bank).head().live) == 41


@pytest.mark.slow
def test_manifests_stay_few_over_hundreds_of_appends(bank: Bank) -> None:
    """Also when there are many files; looking at all of them after each commit would take minutes."""
    counts = manifest_counts(bank, 300, every=10)

    assert max(counts) <= math.log2(300) + 2
    assert len(now(bank).head().live) == 301


def test_a_large_manifest_is_split_by_the_first_removal(empty_bank: Bank) -> None:
    """So that the next ones write about the square root of all entries anew, and not all of them."""
    rows = [{"id": number, "bal": 0} for number in range(64)]
    bank = empty_bank.create(rows, spec=PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id")))
    anew = []

    for number in range(20):
        call(bank, Deposit(1, account_id=number * 7 % 64))
        head = now(bank).head()
        anew.append([len(each.entries) for each in head.manifests if each.listed["added_snapshot_id"] == bank.head()])

    assert len(anew[0]) > 1
    assert sum(anew[0]) == 65
    assert all(len(counts) == 1 and counts[0] <= 9 for counts in anew[-10:])
    assert len(now(bank).head().manifests) <= 8
    assert sum(bank.balances().values()) == 20
    assert len(bank.rows()) == 64


def test_many_small_manifests_are_merged_by_a_removal_too(empty_bank: Bank) -> None:
    """Of a table that is only ever updated from now on, nothing else would."""
    bank = empty_bank.create((), properties={"commit.manifest-merge.enabled": "false"})
    for id_ in range(60):
        append_one(bank, id_)
    with bank.rival() as catalog:
        table = catalog.load_table(bank.identifier)
        table.transaction().remove_properties("commit.manifest-merge.enabled").commit_transaction()
    assert len(now(bank).head().manifests) == 60

    call(bank, Deposit(1, account_id=7))

    assert len(now(bank).head().manifests) <= 8
    assert sorted(bank.balances()) == list(range(60))
    assert bank.balances()[7] == 8


def test_manifests_are_not_merged_where_the_table_says_so(empty_bank: Bank) -> None:
    """`commit.manifest-merge.enabled=false`: each append adds one, and touches none."""
    bank = empty_bank.create(properties={"commit.manifest-merge.enabled": "false"})

    assert manifest_counts(bank, 6) == [2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(("target", "count"), [(10_000, 2), (30_000, 1)])
def test_manifests_are_merged_up_to_the_size_that_the_table_says(empty_bank: Bank, target: int, count: int) -> None:
    """`commit.manifest.target-size-bytes`; one that is written anew because it loses a file counts, too."""
    bank = empty_bank.create((), properties={"commit.manifest.target-size-bytes": str(target)})
    for first in (0, 15):
        _append_files(bank, [accounts((id_, 0)) for id_ in range(first, first + 15)], {})
    lengths = [each.listed["manifest_length"] for each in now(bank).head().manifests]
    assert all(5_000 < length < 10_000 for length in lengths)

    call(bank, lambda base: Rewrite(accounts((20, 1)), keys="id"))

    manifests = now(bank).head().manifests
    assert len(manifests) == count
    assert sorted(bank.balances()) == list(range(30))


def test_a_manifest_that_only_tells_of_removals_goes_with_the_next_commit(bank: Bank) -> None:
    """It tells what this snapshot removed, and is dead weight for every later one."""
    call(bank, lambda base: Delete(where="id > 0"))
    (only,) = now(bank).head().manifests
    assert [entry.status for entry in only.entries] == [Status.DELETED]

    call(bank, lambda base: NoChange(), "op")

    assert now(bank).head().manifests == ()
    append_one(bank, 7)
    assert bank.balances() == {7: 7}
    check_inspection(bank.table())


@pytest.mark.parametrize("format_version", [1, 2])
def test_a_rewritten_manifest_keeps_everything_of_its_entries(empty_bank: Bank, format_version: int) -> None:
    """What another engine knew of its files, we do not know better."""
    bank = empty_bank.create((), properties={"format-version": str(format_version)})
    told = {
        "key_metadata": b"key",
        "split_offsets": [4, 400],
        "sort_order_id": 0,
        "nan_value_counts": {2: 0},
        "column_sizes": {1: 11},
    }
    _append_files(bank, [accounts((1, 1)), accounts((2, 2))], told)
    before = now(bank)

    call(bank, lambda base: Rewrite(accounts((2, 20)), keys="id"))

    head = check_commit(before, now(bank))
    (carried,) = [entry for entry in _entries(head) if entry.status is Status.EXISTING]
    assert carried.file["key_metadata"] == b"key"
    assert carried.file["split_offsets"] == [4, 400]
    assert bank.balances() == {1: 1, 2: 20}


@pytest.mark.parametrize(("codec", "of_avro"), [("gzip", "deflate"), ("uncompressed", "null")])
def test_manifests_are_compressed_as_the_table_says(empty_bank: Bank, codec: str, of_avro: str) -> None:
    """Also where it says so in a word that PyIceberg does not know."""
    bank = empty_bank.create((), properties={"write.avro.compression-codec": codec})

    append_one(bank, 1)

    head = now(bank).head()
    assert [head.header["avro.codec"], *(each.header["avro.codec"] for each in head.manifests)] == [of_avro] * 2


def test_manifests_go_where_the_table_says(empty_bank: Bank, tmp_path: Path) -> None:
    """`write.metadata.path`: the owner may have a reason to keep metadata elsewhere."""
    elsewhere = f"file://{tmp_path}/elsewhere"
    bank = empty_bank.create((), properties={"write.metadata.path": elsewhere})

    append_one(bank, 1)

    head = now(bank).head()
    assert all(path.startswith(elsewhere) for path in (head.fields["manifest-list"], head.manifests[0].path))


@pytest.mark.skipif(pyiceberg.__version__.startswith("0.10."), reason="PyIceberg 0.10 cannot scan such a table")
def test_files_of_a_spec_whose_column_was_dropped_stay_and_can_be_removed(empty_bank: Bank) -> None:
    """Their manifests are written with the newest schema that still has the column."""
    empty_bank.create((), schema=SCHEMA, spec=SPECS["identity"], properties={"write.summary.partition-limit": "10"})
    world = World(empty_bank, seed=3)
    append(world)
    repartition(world)
    append(world)
    drop_column(world, "kind")

    for deed in (rewrite, append, rewrite, delete, delete):
        before = now(empty_bank)
        deed(world)
        check_commit(before, now(empty_bank))
        world.check_rows()


def test_delete_files_of_another_engine_stay_and_apply(bank: Bank) -> None:
    """Rows that they delete do not come back; they are counted, also where their engine has counted nothing."""
    first = bank.table().inspect.files()["file_path"][0].as_py()
    append_one(bank, 4)
    delete_positions(bank, {first: [1]})

    for change in (Append(accounts((5, 5))), Rewrite(accounts((4, 40)), keys="id"), NoChange()):
        before = now(bank)
        call(bank, lambda base, change=change: change, f"op {change}")
        head = check_commit(before, now(bank))
        assert head.summary["total-position-deletes"] == "1"
    assert bank.balances() == {1: 100, 3: 300, 4: 40, 5: 5}


def test_an_equality_delete_of_another_engine_stays(bank: Bank) -> None:
    """PyIceberg cannot read the rows that it may delete; what need not read them goes on, and loses nothing."""
    delete_equal(bank, id=2)
    before = now(bank)

    append_one(bank, 4)

    head = check_commit(before, now(bank))
    assert head.summary["total-equality-deletes"] == "1"
    assert [entry.file["content"] for entry in head.live.values()].count(2) == 1


@pytest.mark.parametrize("change", [Append(accounts((4, 4))), Rewrite(accounts((1, 5)), keys="id"), NoChange()])
def test_a_table_of_format_version_3_is_refused(bank: Bank, change: Change) -> None:
    """Its rows have numbers of their own that every writer must keep; nothing is written, and nothing is left."""
    _upgrade_to_version_3(bank)
    before = bank.inventory().on_disk

    with pytest.raises(InvalidChangeError, match="format version 3"):
        call(bank, lambda base: change, "op")

    assert bank.table().metadata.format_version == 3
    assert len(bank.snapshot_ids()) == 1
    assert bank.inventory().on_disk == before


def _append_files(bank: Bank, tables: list[pa.Table], told: Mapping[str, Any]) -> None:
    positions = {field.name: number for number, field in enumerate(DATA_FILE_TYPE[DEFAULT_READ_VERSION].fields)}
    with bank.rival() as catalog:
        table = catalog.load_table(bank.identifier)
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as producer:
            for rows in tables:
                file: DataFile = next(iter(_dataframe_to_data_files(table.metadata, rows, table.io)))
                for name, value in told.items():
                    file[positions[name]] = value
                producer.append_data_file(file)


def _entries(head: WrittenSnapshot) -> list[Any]:
    return [entry for manifest in head.manifests for entry in manifest.entries]


def _upgrade_to_version_3(bank: Bank) -> None:
    """Do to the table's metadata what another engine does; PyIceberg reads it and can make none."""
    location = bank.table().metadata_location
    fields = {**Written.at(location).fields, "format-version": 3, "next-row-id": 0}
    upgraded = location.replace("00001-", "00002-")
    path_of(upgraded).write_text(json.dumps(fields), encoding="utf-8")
    with bank.rival() as catalog:
        catalog.drop_table(bank.identifier)
        catalog.register_table(bank.identifier, upgraded)


def test_the_partition_value_of_a_double_stays_what_it_is_however_often_it_is_carried_over(empty_bank: Bank) -> None:
    """PyIceberg up to 0.12.0 reads it rounded to a float, and would write that: engines would look for 0.1 in vain."""
    schema = Schema(NestedField(1, "id", LongType(), required=True), NestedField(2, "rate", DoubleType()))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "rate"))
    bank = empty_bank.create([], schema=schema, spec=spec)
    for number in range(5):
        row = pa.table(
            {"id": pa.array([number], pa.int64()), "rate": [0.1 + number]}, schema=bank.table().schema().as_arrow()
        )
        call(bank, lambda base, row=row: Append(row))

    table = bank.table()
    head = table.current_snapshot()
    assert head is not None
    listed: list[Any] = [
        entry for each in head.manifests(table.io) for entry in fastavro.reader(path_of(each.manifest_path).open("rb"))
    ]
    assert {entry["data_file"]["partition"]["rate"] for entry in listed} == {0.1 + number for number in range(5)}
    assert Status.EXISTING in {entry["status"] for entry in listed}
