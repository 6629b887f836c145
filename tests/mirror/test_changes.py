"""The rows that a range of Delta versions has appended, as the mirror tells them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.update import RemoveSnapshotsUpdate

from seriatim.commit.mirrors import MIRROR_OF
from seriatim.errors import ChangesUnknownError, NotAppendedError
from seriatim.mirror import appended, delta_version_of, mirror, snapshot_of

NAME = "bank.events"


class Scene:
    """A Delta table of ids and texts, partitioned by the text, and its mirror."""

    def __init__(self, folder: Path) -> None:
        self.delta = str(folder / "delta")
        self.catalog = SqlCatalog("local", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
        self.catalog.create_namespace("bank")

    def append(self, *ids: int, type_: pa.DataType | None = None, **further: Sequence[Any]) -> None:
        texts = pa.array([f"p{id_ % 2}" for id_ in ids], type_ or pa.string())
        rows = pa.table({"id": list(ids), "text": texts, "note": texts, **further})
        write_deltalake(self.delta, rows, mode="append", schema_mode="merge", partition_by=["text"])

    def opened(self) -> DeltaTable:
        return DeltaTable(self.delta)

    def mirrored(self, **options: Any) -> Table:
        mirror(self.delta, self.catalog, NAME, **options)
        return self.catalog.load_table(NAME)

    def expire(self, delta_version: int) -> Table:
        """Take the snapshot of a version out of the mirror, as an engine that expires would."""
        table = self.catalog.load_table(NAME)
        found = snapshot_of(table, delta_version)
        assert found is not None
        self.catalog.commit_table(table, (), (RemoveSnapshotsUpdate(snapshot_ids=[found.snapshot_id]),))
        return self.catalog.load_table(NAME)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def ids(rows: pa.Table) -> list[int]:
    return sorted(rows["id"].to_pylist())


def test_every_range_gives_the_rows_that_its_versions_appended(scene: Scene) -> None:
    """Cut anywhere, the ranges hold every row once; with one catalog commit for many versions and with one for each."""
    for number in range(6):
        scene.append(2 * number, 2 * number + 1)

    for batch in (None, 1):
        table = scene.mirrored(batch=batch, start_over=batch is not None)
        for after in (None, *range(5)):
            for upto in range(0 if after is None else after + 1, 6):
                first = 0 if after is None else 2 * after + 2
                assert ids(appended(table, after, upto)) == list(range(first, 2 * upto + 2))


def test_rows_come_whole_and_in_the_tables_schema(scene: Scene) -> None:
    """Partition columns, which the files lack, too; text that was written in several ways; a column that came later."""
    scene.append(1, 2, type_=pa.string_view())
    scene.append(3, type_=pa.large_string())
    scene.append(4, more=[7])
    table = scene.mirrored()

    rows = appended(table, None, 2)

    assert sorted(rows.to_pylist(), key=lambda row: row["id"]) == [
        {"id": 1, "text": "p1", "note": "p1", "more": None},
        {"id": 2, "text": "p0", "note": "p0", "more": None},
        {"id": 3, "text": "p1", "note": "p1", "more": None},
        {"id": 4, "text": "p0", "note": "p0", "more": 7},
    ]
    assert appended(table, 0, 1, ["note", "id"]).schema.names == ["id", "note"]
    assert appended(table, 0, 1, ["note", "id"]).schema.field("note").type == rows.schema.field("note").type
    with pytest.raises(ValueError, match="missing"):
        appended(table, None, 2, ["missing"])


def test_versions_that_add_no_rows_add_none(scene: Scene) -> None:
    """A compaction rewrites rows that have been seen, a vacuum only speaks of itself; what follows is new again."""
    for id_ in (2, 4, 6):
        scene.append(id_)
    scene.opened().optimize.compact()
    scene.opened().vacuum(retention_hours=200, dry_run=False)
    scene.append(8)
    table = scene.mirrored(upto=2)
    assert ids(appended(table, None, 2)) == [2, 4, 6]
    latest = scene.opened().version()

    table = scene.mirrored()

    assert ids(appended(table, 2, latest - 1)) == []
    assert ids(appended(table, 2, latest)) == [8]


def test_rows_that_are_not_asked_for_are_not_read(scene: Scene) -> None:
    """The files of other versions may be gone: what a run reads is what is new to it."""
    for id_ in range(4):
        scene.append(id_)
    table = scene.mirrored()
    for number, id_ in enumerate((0, 1, 3)):
        rows = appended(table, *((None, 0), (0, 1), (2, 3))[number])
        assert ids(rows) == [id_]
    for task in table.scan().plan_files():
        if "p1" in task.file.file_path or task.file.record_count == 0:
            Path(task.file.file_path.removeprefix("file://")).unlink()

    assert ids(appended(table, 1, 2)) == [2]
    with pytest.raises(ChangesUnknownError, match=r"p1.* of version 3 is gone"):
        appended(table, 2, 3)


@pytest.mark.parametrize("change", ["delete", "update", "overwrite"])
def test_a_version_that_took_rows_away_is_refused_by_name(scene: Scene, change: str) -> None:
    """Also when it added some; what came before it can still be consumed."""
    scene.append(1, 2)
    scene.append(3, 4)
    if change == "delete":
        scene.opened().delete("id = 2")
    elif change == "update":
        scene.opened().update(updates={"note": "'new'"}, predicate="id = 2")
    else:
        rows = pa.table({"id": [9], "text": ["p1"], "note": ["p1"]})
        write_deltalake(scene.delta, rows, mode="overwrite")
    scene.append(5)
    table = scene.mirrored()

    assert ids(appended(table, None, 1)) == [1, 2, 3, 4]
    assert ids(appended(table, 2, 3)) == [5]
    with pytest.raises(NotAppendedError) as caught:
        appended(table, 0, 3)

    assert caught.value.version == 2
    assert caught.value.operation == {"overwrite": "WRITE"}.get(change, change.upper())
    assert "version 2" in str(caught.value)


def test_what_is_not_mirrored_yet_is_not_taken_for_nothing(scene: Scene) -> None:
    """A consumer that went on would never see the rows."""
    scene.append(1)
    scene.append(2)
    table = scene.mirrored(upto=0)

    with pytest.raises(ChangesUnknownError, match="version 1 is not"):
        appended(table, 0, 1)
    with pytest.raises(ChangesUnknownError, match="version 1 is not"):
        appended(table, None, 1)


def test_an_empty_mirror_has_no_versions(scene: Scene) -> None:
    scene.append(1)
    table = scene.catalog.create_table(NAME, Schema(), properties={MIRROR_OF: "it"})

    with pytest.raises(ChangesUnknownError, match="version 0 is not"):
        appended(table, None, 0)


def test_versions_whose_snapshots_were_expired_are_not_taken_for_nothing(scene: Scene) -> None:
    """What they added is no longer known; what came later is."""
    for id_ in (0, 2, 4, 6):
        scene.append(id_)
    scene.mirrored()

    table = scene.expire(1)

    assert ids(appended(table, 2, 3)) == [6]
    assert ids(appended(table, 1, 3)) == [4, 6]
    for after in (None, 0):
        with pytest.raises(ChangesUnknownError, match="version 1 is not"):
            appended(table, after, 3)


def test_a_commit_of_somebody_else_is_refused(scene: Scene) -> None:
    """Whether its rows are in the Delta table nobody knows."""
    scene.append(1)
    table = scene.mirrored()
    table.append(appended(table, None, 0).slice(0, 0))

    with pytest.raises(ChangesUnknownError, match="somebody else"):
        appended(scene.catalog.load_table(NAME), None, 0)


def test_a_gap_is_consumed_as_a_whole(scene: Scene) -> None:
    """One snapshot stands for versions that were gone from the log: a part of them cannot be told."""
    scene.append(1)
    scene.mirrored()
    for id_ in (3, 5, 7):
        scene.append(id_)
    scene.opened().create_checkpoint()
    for version in (0, 1, 2):
        (Path(scene.delta) / "_delta_log" / f"{version:020}.json").unlink()
    table = scene.mirrored(on_gap="snapshot")
    assert delta_version_of(table) == 3

    assert ids(appended(table, 0, 3)) == [3, 5, 7]
    assert ids(appended(table, None, 3)) == [1, 3, 5, 7]
    for after, upto in ((0, 2), (1, 3)):
        with pytest.raises(ChangesUnknownError, match="one snapshot stands for"):
            appended(table, after, upto)
