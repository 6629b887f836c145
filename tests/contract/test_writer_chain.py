"""Several snapshots that land in one catalog commit: each is as if it had been committed by itself."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyiceberg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import SetSnapshotRefUpdate
from pyiceberg.types import LongType, NestedField

from seriatim.commit.chain import Form, Step
from seriatim.commit.manifests import MissingFileError
from seriatim.commit.position_deletes import position_delete_file
from seriatim.errors import InvalidChangeError
from tests.contract.chain_support import (
    BY_KIND,
    ID,
    KIND,
    SCHEMA,
    WITH_NOTE,
    Story,
    data_file,
    land,
    land_in_batches,
    rows_at,
    written,
)
from tests.contract.writer_checks import check_inspection, check_snapshot
from tests.faults.avro_files import Status, Written
from tests.faults.bank import Bank
from tests.faults.rest_server import Backing, RestServer


def check_story(bank: Bank, story: Story, ids: list[int]) -> None:
    """Each step has its snapshot, with the rows of the model, and right by the specification."""
    table, files = bank.table(), written(bank)
    parent = None
    assert len(ids) == len(story.steps)
    for id_, step, rows in zip(ids, story.steps, story.history, strict=True):
        snapshot = files.snapshot(id_)
        assert snapshot.fields.get("parent-snapshot-id") == (parent.id if parent else None)
        is_v1 = files.fields["format-version"] == 1
        assert snapshot.fields.get("sequence-number", 0) == (0 if is_v1 else ids.index(id_) + 1)
        check_snapshot(files, snapshot, parent, operation=step.operation.value, words=step.words)
        assert rows_at(table, id_) == rows
        parent = snapshot
    check_inspection(table)


def test_a_chain_lands_as_one_catalog_commit(target: Bank, story: Story) -> None:
    """Each snapshot has words of its own beside those of the commit, and its place in it."""
    for count in (3, 2, 1):
        story.tell(add=[count])
    catalog = target.connect()

    receipt = land(target, story.steps, catalog=catalog)

    assert len(catalog.submitted) == 1
    moved = [update.ref_name for update in catalog.submitted[0][2] if isinstance(update, SetSnapshotRefUpdate)]
    assert moved.count("main") == 1
    check_story(target, story, list(receipt.snapshot_ids))
    summaries = [written(target).snapshot(id_).summary for id_ in receipt.snapshot_ids]
    assert [summary["step"] for summary in summaries] == ["0", "1", "2"]
    assert [summary["seriatim.part"] for summary in summaries] == ["1/3", "2/3", "3/3"]
    assert target.head() == receipt.snapshot_ids[-1]
    assert len(written(target).fields["snapshot-log"]) == 1


def test_a_step_removes_what_an_earlier_one_of_the_same_commit_added(target: Bank, story: Story) -> None:
    """Also what was carried into a manifest of a third step, and what came before the commit."""
    story.tell(add=[2])
    first = list(land(target, story.steps).snapshot_ids)
    story.tell(add=[1, 1])
    story.tell(add=[3])
    story.tell(add=[1], remove=[1])
    story.tell(remove=[0])
    story.tell(remove=[0, 1, 2])

    ids = land(target, story.steps[1:]).snapshot_ids

    assert story.history[-1] == []
    check_story(target, story, [*first, *ids])


def test_position_deletes_are_added_replaced_and_removed(target: Bank, story: Story) -> None:
    """The data files stay; a delete file goes with its data file, or when its rows are restored."""
    story.tell(add=[4, 4, 2])
    story.tell(delete={0: [1], 1: [0, 3]})
    story.tell(delete={0: [2]})
    story.tell(add=[1], restore=[1])
    story.tell(delete={3: [0]}, remove=[1])
    story.tell(remove=[0])

    ids = land(target, story.steps).snapshot_ids

    check_story(target, story, list(ids))
    head = written(target).head()
    deletes = [entry for entry in head.live.values() if entry.file["content"] == 1]
    assert [entry.sequence_number for entry in deletes] == [5]
    assert head.summary["total-delete-files"] == "1"


@pytest.mark.skipif(pyiceberg.__version__.startswith("0.10."), reason="PyIceberg 0.10 applies only newer delete files")
def test_rows_can_be_deleted_in_the_snapshot_that_adds_them(target: Bank, story: Story) -> None:
    """A delete file applies to what is as old as itself."""
    file = story.write([{ID: id_, KIND: "cash"} for id_ in (1, 2, 3)])
    io = target.table().io
    location = f"file://{story.folder}/deletes.parquet"
    deletes = position_delete_file(
        io, location, target.table().spec().spec_id, file.partition, file.file_path, [2, 0, 2]
    )

    (id_,) = land(target, [Step(Operation.APPEND, added=(file,), added_deletes=(deletes,))]).snapshot_ids

    assert deletes.record_count == 2
    assert [row["id"] for row in rows_at(target.table(), id_)] == [2]


@pytest.mark.parametrize("positions", [[], [-1, 2]])
def test_positions_that_are_none_are_refused(target: Bank, tmp_path: Path, positions: list[int]) -> None:
    table = target.table()

    with pytest.raises(ValueError, match="positions"):
        position_delete_file(
            table.io, f"file://{tmp_path}/d", table.spec().spec_id, data_file("x").partition, "x", positions
        )

    assert not (tmp_path / "d").exists()


def test_the_table_changes_its_form_in_the_middle(target: Bank, story: Story) -> None:
    """A column is renamed and one is added, then the table is partitioned; files of the old form stay and go."""
    story.tell(add=[2, 2])
    story.tell(add=[1], form=Form(schema=WITH_NOTE, properties={"colour": "red"}))
    story.tell(add=[2, 1], form=Form(spec=BY_KIND))
    story.tell(delete={0: [1], 3: [0]})
    story.tell(remove=[0, 3], add=[1])
    story.tell(add=[1], form=Form(schema=SCHEMA, spec=UNPARTITIONED_PARTITION_SPEC))

    ids = land(target, story.steps).snapshot_ids

    check_story(target, story, list(ids))
    metadata = target.table().metadata
    schema_ids = [snapshot.schema_id for snapshot in metadata.snapshots]
    assert schema_ids == [0, 1, 1, 1, 1, 0]
    assert [schema.schema_id for schema in metadata.schemas] == [0, 1]
    assert metadata.schemas[1] == WITH_NOTE
    assert [spec.fields for spec in metadata.partition_specs] == [(), BY_KIND.fields]
    assert (metadata.current_schema_id, metadata.default_spec_id) == (0, 0)
    assert (metadata.last_column_id, metadata.last_partition_id) == (3, 1000)
    assert metadata.properties["colour"] == "red"


def test_field_ids_are_kept_as_they_are_given(target: Bank) -> None:
    """Also with a hole, and with a column that was dropped and came back under another id."""
    given_schema = Schema(NestedField(7, "id", LongType()), NestedField(4, "kind", LongType()), schema_id=99)

    land(target, [Step(Operation.APPEND, form=Form(schema=given_schema))])

    table = target.table()
    assert [(field.field_id, field.name) for field in table.schema().fields] == [(7, "id"), (4, "kind")]
    assert table.schema().schema_id == 1
    assert table.metadata.last_column_id == 7


def test_a_form_that_the_table_has_changes_nothing(target: Bank, story: Story) -> None:
    """Not even the property: what is so already is not submitted."""
    form = Form(schema=SCHEMA, spec=UNPARTITIONED_PARTITION_SPEC, properties={"colour": "red"})
    story.tell(form=form)
    land(target, story.steps)
    catalog = target.connect()

    land(target, [Step(Operation.APPEND, form=form)], catalog=catalog)

    actions = [update.action for update in catalog.submitted[0][2]]
    assert [action for action in actions if action not in ("add-snapshot", "set-snapshot-ref")] == []
    assert target.table().metadata.schemas == [target.table().schema()]


def test_times_never_go_down(target: Bank) -> None:
    """Readers refuse a table whose newest snapshot is older than its log."""
    begun_ms = target.table().metadata.last_updated_ms
    asked = [begun_ms - 5_000, begun_ms + 90_000, begun_ms + 80_000, None, begun_ms + 100_000]

    ids = land(target, [Step(Operation.APPEND, at_ms=at_ms) for at_ms in asked]).snapshot_ids

    times = [written(target).snapshots[id_]["timestamp-ms"] - begun_ms for id_ in ids]
    assert times == [0, 90_000, 90_000, 90_000, 100_000]
    assert target.table().metadata.last_updated_ms == begun_ms + 100_000


def test_a_chain_goes_on_another_branch(target: Bank, story: Story) -> None:
    """Main stays where it is, and the numbers go on from those of the table."""
    story.tell(add=[1])
    (first,) = land(target, story.steps).snapshot_ids
    table = target.table()
    table.manage_snapshots().create_branch(snapshot_id=first, branch_name="side").commit()
    story.tell(add=[2])
    story.tell(remove=[0])

    ids = land(target, story.steps[1:], branch="side").snapshot_ids

    assert target.head() == first
    assert target.table().metadata.refs["side"].snapshot_id == ids[-1]
    check_rows = [rows_at(target.table(), id_) for id_ in (first, *ids)]
    assert check_rows == story.history
    numbers = [snapshot.sequence_number for snapshot in target.table().metadata.snapshots]
    assert numbers == [1, 2, 3]


def test_steps_without_files_make_snapshots(target: Bank, story: Story) -> None:
    """As the first on an empty table, and between others."""
    for add in ([], [1], [], []):
        story.tell(add=add)

    check_story(target, story, list(land(target, story.steps).snapshot_ids))


def test_a_chain_of_no_steps_is_refused(target: Bank) -> None:
    with pytest.raises(InvalidChangeError, match="no step"):
        land(target, [])

    assert target.snapshot_ids() == []


def test_a_chain_on_a_table_of_format_version_1(empty_bank: Bank, story: Story) -> None:
    """Everything but delete files, which it does not know; nothing is written where one is asked for."""
    bank = empty_bank.create((), schema=SCHEMA, properties={"format-version": "1"})
    story.tell(add=[2, 1])
    story.tell(remove=[1], add=[1])
    story.tell(add=[1], form=Form(schema=WITH_NOTE))
    ids = land(bank, story.steps).snapshot_ids
    check_story(bank, story, list(ids))
    before = bank.inventory().on_disk

    with pytest.raises(InvalidChangeError, match="format version 1"):
        land(bank, [Step(Operation.APPEND), story.tell(delete={0: [0]})])

    assert {path for path in bank.inventory().on_disk - before if "metadata" in str(path)} == set()
    assert bank.snapshot_ids() == list(ids)


def test_a_file_that_is_not_there_when_its_step_comes_is_refused(target: Bank, story: Story) -> None:
    """An earlier step had removed it; nothing of the steps before is left either."""
    story.tell(add=[1, 1])
    land(target, story.steps)
    gone = story.tell(remove=[0])
    before = target.inventory().on_disk

    with pytest.raises(MissingFileError, match="not in the snapshot"):
        land(target, [gone, Step(Operation.APPEND), gone])

    assert target.inventory().on_disk == before


@pytest.mark.parametrize("place", ["added", "removed", "added_deletes", "removed_deletes"])
def test_files_of_the_wrong_kind_are_refused(target: Bank, tmp_path: Path, place: str) -> None:
    table, file = target.table(), data_file("x")
    if not place.endswith("deletes"):
        file = position_delete_file(table.io, f"file://{tmp_path}/d", table.spec().spec_id, file.partition, "x", [0])

    with pytest.raises(ValueError, match="expected"):
        replace(Step(Operation.OVERWRITE), **{place: (file,)})  # type: ignore[arg-type]  # Each of these is a tuple.


def test_words_contradict_nothing_that_is_counted(target: Bank) -> None:
    """A total that is wrong would be carried on for ever; the operation has a place of its own."""
    file = data_file("file:///x/1")

    (id_,) = land(target, [Step(Operation.APPEND, (file,), words={"total-records": "7", "note": "7"})]).snapshot_ids

    summary = written(target).snapshot(id_).summary
    assert (summary["total-records"], summary["note"]) == ("10", "7")
    with pytest.raises(ValueError, match="operation"):
        Step(Operation.APPEND, words={"operation": "delete"})


def test_a_chain_that_lost_lands_on_the_new_base(target: Bank, story: Story) -> None:
    """All of it, and once: a rival's snapshot came between the read and the commit."""
    story.tell(add=[1])
    first = list(land(target, story.steps).snapshot_ids)
    rival, mine = story.tell(add=[2]), [story.tell(add=[1]), story.tell(remove=[0])]
    won: list[int] = []

    receipt = land(target, mine, lambda: won.extend(land(target, [rival]).snapshot_ids))

    assert receipt.attempts == 2
    check_story(target, story, [*first, *won, *receipt.snapshot_ids])
    assert target.inventory().unreachable == []


def test_a_rest_catalog_takes_a_chain(target: Bank, story: Story) -> None:
    """Over HTTP, with a change of form, and deletes."""
    backing = Backing("bank", **target.properties())
    story.tell(add=[3, 1])
    story.tell(delete={0: [1]})
    story.tell(add=[1], remove=[1], form=Form(schema=WITH_NOTE, spec=BY_KIND))

    with RestServer(backing) as server:
        ids = land(target, story.steps, catalog=server.connect()).snapshot_ids
    backing.engine.dispose()

    assert server.commits == 1
    check_story(target, story, list(ids))


@settings(max_examples=12, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**16), sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_any_batching_is_as_one_by_one(seed: int, sizes: list[int]) -> None:
    """The same rows at each snapshot, and of each file the same numbers, whatever lands together."""
    with TemporaryDirectory() as folder:
        _compare(Path(folder), seed, sizes, steps=8)


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32), sizes=st.lists(st.integers(1, 20), min_size=1, max_size=4))
def test_any_batching_of_long_chains_is_as_one_by_one(seed: int, sizes: list[int]) -> None:
    with TemporaryDirectory() as folder:
        _compare(Path(folder), seed, sizes, steps=20)


def _compare(folder: Path, seed: int, sizes: list[int], steps: int) -> None:
    story, chance = Story(folder), random.Random(seed)
    for _ in range(steps):
        story.tell_any(chance)
    told = []
    for name, batches in (("together", sizes), ("alone", [1])):
        (folder / name).mkdir()
        bank = Bank(folder / name)
        bank.create((), schema=SCHEMA)
        ids = land_in_batches(bank, story.steps, batches)
        if name == "together":
            check_story(bank, story, ids)
        told.append([_numbers(written(bank), ids, id_) for id_ in ids])
        bank.close()
    assert told[0] == told[1]


def _numbers(files: Written, ids: list[int], snapshot_id: int) -> dict[str, tuple[Any, ...]]:
    """Return what a snapshot says of each of its files: in which step it came, and its numbers as they are written."""
    return {
        path: (ids.index(entry.snapshot_id), entry.sequence_number, entry.file_sequence_number)
        for path, entry in files.snapshot(snapshot_id).live.items()
        if entry.status is not Status.DELETED
    }
