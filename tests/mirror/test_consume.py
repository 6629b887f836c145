"""A mirror's new rows applied to another table exactly once, whatever overlaps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from seriatim import Append, Base, Conflict, Event, NoChange
from seriatim.errors import NotAppendedError, StreamGapError
from seriatim.mirror import Consumed, NewRows, consume, mirror

SOURCE, TARGET = "bank.events", "bank.seen"


class Scene:
    """A Delta table of ids, its mirror, and a table to which every id is copied."""

    def __init__(self, folder: Path) -> None:
        self.delta = str(folder / "delta")
        self.catalog = SqlCatalog("local", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
        self.catalog.create_namespace("bank")
        self.catalog.create_table(TARGET, pa.schema([("id", pa.int64())]))
        self.asked: list[tuple[int | None, int]] = []
        self.conflicts: list[Conflict] = []
        self.rivals: deque[Callable[[], object]] = deque()

    def arrive(self, *ids: int) -> Table:
        """Append a version, and mirror it."""
        write_deltalake(self.delta, pa.table({"id": list(ids)}), mode="append")
        return self.mirrored()

    def mirrored(self) -> Table:
        mirror(self.delta, self.catalog, SOURCE)
        return self.catalog.load_table(SOURCE)

    def copy(self, upto: int) -> Consumed:
        """Copy what is new; a rival of `rivals` comes between the read and the commit."""
        source = self.catalog.load_table(SOURCE)
        return consume(source, self.catalog, TARGET, self._change, stream="copy", upto=upto, observer=self)

    def notify(self, event: Event) -> None:
        if isinstance(event, Conflict):
            self.conflicts.append(event)

    def seen(self) -> list[int]:
        return sorted(self.catalog.load_table(TARGET).scan().to_arrow()["id"].to_pylist())

    def snapshots(self) -> int:
        return len(self.catalog.load_table(TARGET).metadata.snapshots)

    def _change(self, new: NewRows) -> Callable[[Base], Append | NoChange]:
        self.asked.append((new.after, new.upto))

        def change(base: Base) -> Append | NoChange:
            base.read()  # Whatever else is written to the table makes it be computed again.
            if self.rivals:
                self.rivals.popleft()()
            return Append(new.rows.cast(base.schema.as_arrow())) if len(new.rows) else NoChange()

        return change


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path)
    for number in range(4):
        scene.arrive(2 * number, 2 * number + 1)
    return scene


def test_each_call_goes_on_where_the_one_before_has_ended(scene: Scene) -> None:
    first, second = scene.copy(upto=1), scene.copy(upto=3)

    assert scene.asked == [(None, 1), (1, 3)]
    assert [(each.after, each.upto) for each in (first, second)] == [(None, 1), (1, 3)]
    assert not first.receipt.is_noop
    assert second.receipt.operation_ids == ("copy@3",)
    assert scene.seen() == list(range(8))


def test_what_has_been_used_is_not_used_again_and_nothing_is_written(scene: Scene) -> None:
    """Nor is the change asked for; the receipt names the snapshot that did it."""
    done = scene.copy(upto=2)
    before = scene.snapshots()

    for upto in (2, 0):
        again = scene.copy(upto=upto)

        assert again.receipt.already_applied == {f"copy@{upto}": done.receipt.snapshot_ids[-1]}
    assert scene.snapshots() == before
    assert scene.asked == [(None, 2)]


def test_versions_without_rows_are_a_step_like_others(scene: Scene) -> None:
    """The next call does not look at them again."""
    scene.copy(upto=3)
    DeltaTable(scene.delta).optimize.compact()
    scene.mirrored()

    empty = scene.copy(upto=4)
    scene.arrive(8)
    scene.copy(upto=5)

    assert (empty.receipt.is_noop, empty.receipt.rows_written) == (False, 0)
    assert scene.asked == [(None, 3), (3, 4), (4, 5)]
    assert scene.seen() == list(range(9))


@pytest.mark.parametrize(("rival_upto", "asked"), [(0, [(None, 3), (None, 0), (0, 3)]), (3, [(None, 3), (None, 3)])])
def test_what_a_rival_uses_meanwhile_is_left_out(scene: Scene, rival_upto: int, asked: list[object]) -> None:
    """All of it: nothing is left to do. A part: the rest is computed. The conflict is told in the receipt."""
    scene.rivals.append(lambda: scene.copy(upto=rival_upto))

    done = scene.copy(upto=3)

    assert scene.asked == asked
    assert scene.seen() == list(range(8))
    assert len(scene.conflicts) == 1
    assert done.receipt.conflicts == tuple(scene.conflicts)
    assert done.receipt.attempts == (2 if rival_upto == 0 else 1)
    assert done.receipt.is_noop == (rival_upto == 3)
    assert done.after == (0 if rival_upto == 0 else None)


def test_rivals_may_take_one_version_after_another_from_under_a_call(scene: Scene) -> None:
    """It ends, with what nobody else has used."""
    scene.rivals.extend([lambda: scene.copy(upto=0), lambda: None, lambda: scene.copy(upto=1), lambda: None])

    done = scene.copy(upto=3)

    assert (done.after, done.upto, len(done.receipt.conflicts)) == (1, 3, 2)
    assert scene.seen() == list(range(8))


def test_a_stream_that_is_set_back_meanwhile_stops_the_call(scene: Scene) -> None:
    """Whoever rolled the table back has to say what shall become of it; nothing was written."""
    scene.copy(upto=0)
    before = scene.catalog.load_table(TARGET).metadata.current_snapshot_id
    assert before is not None
    scene.copy(upto=1)

    def roll_back() -> None:
        scene.catalog.load_table(TARGET).manage_snapshots().rollback_to_snapshot(before).commit()

    scene.rivals.append(roll_back)
    with pytest.raises(StreamGapError):
        scene.copy(upto=3)

    assert scene.seen() == [0, 1]
    scene.copy(upto=3)
    assert scene.seen() == list(range(8))


def test_nothing_is_written_of_what_cannot_be_consumed(scene: Scene) -> None:
    scene.copy(upto=1)
    DeltaTable(scene.delta).delete("id = 7")
    scene.mirrored()
    before = scene.snapshots()

    with pytest.raises(NotAppendedError):
        scene.copy(upto=4)

    assert scene.snapshots() == before
    scene.copy(upto=3)
    assert scene.seen() == list(range(8))
