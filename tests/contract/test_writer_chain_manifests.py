"""Which manifests a chain of snapshots reads, writes and leaves: few, whatever lands together."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from pyiceberg.table.snapshots import Operation

from seriatim.commit.chain import Step
from seriatim.commit.new_snapshot import write_snapshots
from seriatim.commit.recorder import RecordingFileIO
from tests.contract.chain_support import Story, data_file, land, land_in_batches, written
from tests.faults.bank import Bank


class _CountingIO(RecordingFileIO):
    """Counts what is read through it."""

    read: list[str]

    def new_input(self, location: str) -> Any:
        self.read.append(location)
        return super().new_input(location)


def test_manifests_of_the_base_are_read_once_and_others_never(target: Bank, story: Story) -> None:
    """Neither those of earlier steps nor, for a second removal, those that were read."""
    target.set_property("commit.manifest-merge.enabled", "false")
    for _ in range(3):
        story.tell(add=[1, 1])
    land(target, story.steps)
    table = target.table()
    io = _CountingIO(table.io)
    io.read, table.io = [], io
    base = {manifest.path for manifest in written(target).head().manifests}
    steps = [story.tell(remove=[0]), story.tell(add=[1]), story.tell(remove=[0, 4]), story.tell(remove=[0])]

    write_snapshots(table, "main", steps, 0)

    manifests = [location for location in io.read if not location.rsplit("/", 1)[-1].startswith("snap-")]
    assert sorted(manifests) == sorted(base)


def test_appends_read_no_manifest_that_they_do_not_take_in(target: Bank) -> None:
    """A large manifest stays as it is, unread."""
    land(target, [Step(Operation.APPEND, tuple(data_file(f"file:///x/{number}") for number in range(40)))])
    table = target.table()
    io = _CountingIO(table.io)
    io.read, table.io = [], io

    write_snapshots(table, "main", [Step(Operation.APPEND, (data_file(f"file:///y/{n}"),)) for n in range(20)], 0)

    assert [location for location in io.read if "/snap-" not in location] == []


def test_removals_from_a_large_manifest_do_not_write_the_rest_of_it_again(target: Bank) -> None:
    """It is split once: what the chain will not touch is listed apart."""
    files = [data_file(f"file:///x/{number}") for number in range(200)]
    land(target, [Step(Operation.APPEND, tuple(files))])
    before = {manifest.path for manifest in written(target).head().manifests}
    steps = [Step(Operation.DELETE, removed=(files[number * 7],)) for number in range(20)]

    ids = land(target, steps).snapshot_ids

    manifests = {each.path: each for id_ in ids for each in written(target).snapshot(id_).manifests}
    entries = sum(len(each.entries) for path, each in manifests.items() if path not in before)
    assert entries < 200 + 20 * 20
    assert set(written(target).head().live) == {f.file_path for n, f in enumerate(files) if n % 7 or n >= 140}


def appends(count: int) -> Iterator[Step]:
    for number in range(count):
        yield Step(Operation.APPEND, (data_file(f"file:///x/{number}"),))


def overwrites(count: int, *, live: int) -> Iterator[Step]:
    """Each replaces one file of those that there are, at random."""
    chance = random.Random(count)
    files = [data_file(f"file:///first/{number}") for number in range(live)]
    yield Step(Operation.APPEND, tuple(files))
    for number in range(1, count):
        old = files.pop(chance.randrange(live))
        files.append(data_file(f"file:///x/{number}"))
        yield Step(Operation.OVERWRITE, (files[-1],), (old,))


STEPS = {
    "appends": lambda count: list(appends(count)),
    "overwrites of one": lambda count: list(overwrites(count, live=1)),
    "overwrites of many": lambda count: list(overwrites(count, live=60)),
}
MANIFESTS_MAX = 50


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "sizes"), [*((kind, [50]) for kind in STEPS), ("overwrites of many", [7, 1, 90])])
def test_manifests_stay_few_over_a_thousand_steps(target: Bank, kind: str, sizes: list[int]) -> None:
    ids = land_in_batches(target, STEPS[kind](1000), sizes)

    check_manifests(target, ids)


@pytest.mark.parametrize("sizes", [[50], [7, 1, 20]], ids=str)
@pytest.mark.parametrize("kind", STEPS)
def test_manifests_stay_few(target: Bank, kind: str, sizes: list[int]) -> None:
    ids = land_in_batches(target, STEPS[kind](100), sizes)

    check_manifests(target, ids, count_max=10)


def check_manifests(bank: Bank, ids: list[int], count_max: int = MANIFESTS_MAX) -> None:
    """Every snapshot has few, and the last lists each file once."""
    table = bank.table()
    snapshots = [table.snapshot_by_id(id_) for id_ in ids]
    counts = [len(snapshot.manifests(table.io)) for snapshot in snapshots if snapshot is not None]
    assert len(counts) == len(ids)
    assert max(counts) <= count_max
    head = written(bank).head()
    assert int(head.summary["total-data-files"]) == sum(len(manifest.live) for manifest in head.manifests)
