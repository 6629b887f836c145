"""Runs of the mirror that overlap, at the one moment where it hurts: everything is read, nothing is committed."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyiceberg.table.update import AddSnapshotUpdate, AssertRefSnapshotId, AssertTableUUID

from seriatim.errors import SourceMismatchError, TableReplacedError
from seriatim.mirror import MirrorReceipt
from tests.mirror.hand_table import HandTable
from tests.mirror.targets import Target, assert_mirrors, versions

RETRIES: Mapping[str, Mapping[str, str]] = {
    "defaults": {},
    "no retries": {"commit.retry.num-retries": "0"},
    "many retries": {
        "commit.retry.num-retries": "20",
        "commit.retry.min-wait-ms": "1",
        "commit.retry.max-wait-ms": "1",
        "commit.retry.total-timeout-ms": "60000",
    },
}
whatever_the_retries = pytest.mark.parametrize("properties", RETRIES.values(), ids=RETRIES)


def together(target: Target, source: HandTable, *goals: int | None, **options: object) -> list[MirrorReceipt]:
    """Run the mirror once for each goal, all of them past what they have read before any commits."""
    barrier = threading.Barrier(len(goals), timeout=60)
    catalogs = [target.interposing(barrier.wait) for _ in goals]
    with ThreadPoolExecutor(len(goals)) as pool:
        calls = [
            pool.submit(target.mirror, source, catalog, upto=goal, **options)
            for catalog, goal in zip(catalogs, goals, strict=True)
        ]
        receipts = [call.result() for call in calls]
    assert all(not catalog.before for catalog in catalogs)
    return receipts


@whatever_the_retries
def test_of_two_that_read_version_1_one_lands_version_2_and_the_other_finds_it(
    target: Target, source: HandTable, properties: Mapping[str, str]
) -> None:
    """The schedule of delta-io/delta#3189: a check before the commit lets both pass, and history becomes 1 2 2 3."""
    source.appends(4)
    target.mirror(source, upto=1, properties=properties)

    receipts = together(target, source, 2, 2)

    assert_mirrors(target, source, upto=2)
    assert sorted([landed.version for landed in receipt.landed] for receipt in receipts) == [[], [2]]
    assert sorted(receipt.found_landed for receipt in receipts) == [(), (2,)]
    assert {receipt.base_version for receipt in receipts} == {1}
    assert {receipt.version for receipt in receipts} == {2}
    (loser,) = [receipt for receipt in receipts if receipt.is_noop]
    assert [conflict.actual_snapshot_id for conflict in loser.conflicts] == [target.head()]


@whatever_the_retries
def test_the_loser_goes_on_with_what_the_winner_did_not_land(
    target: Target, source: HandTable, properties: Mapping[str, str]
) -> None:
    """Whoever of the two wins, and however their goals lie."""
    source.appends(6)
    target.mirror(source, upto=1, properties=properties)

    receipts = together(target, source, 2, 4, None)

    assert_mirrors(target, source)
    landed = sorted(landed.version for receipt in receipts for landed in receipt.landed)
    assert landed == [2, 3, 4, 5, 6]


def test_the_base_is_a_requirement_of_every_commit(target: Target, source: HandTable) -> None:
    """SqlCatalog would refuse a stale snapshot by its sequence number alone; others are not asked to."""
    source.appends(6)
    catalog = target.connect()

    target.mirror(source, catalog, batch=2)

    assert len(catalog.submitted) == 4
    for table, requirements, updates in catalog.submitted:
        first = next(update.snapshot for update in updates if isinstance(update, AddSnapshotUpdate))
        assert AssertRefSnapshotId(ref="main", snapshot_id=first.parent_snapshot_id) in requirements
        assert AssertTableUUID(uuid=table.metadata.table_uuid) in requirements


def test_those_that_find_no_table_make_one_and_one_history(target: Target, source: HandTable) -> None:
    """Each believes that it makes the table; none commits before all have read."""
    source.appends(5)

    receipts = together(target, source, *[None] * 4, batch=2)

    assert_mirrors(target, source)
    assert sorted(landed.version for receipt in receipts for landed in receipt.landed) == list(range(6))
    for receipt in receipts:
        assert sorted([*receipt.found_landed, *(each.version for each in receipt.landed)]) == list(range(6))


@pytest.mark.parametrize("goal", [2, 4, 5, 7])
def test_a_stale_run_that_comes_back_sets_nothing_back(target: Target, source: HandTable, goal: int) -> None:
    """Uniform's metadata-only conversion moved delta-version from 5 to 4."""
    source.append()
    for _ in range(6):
        source.touch()
    target.mirror(source, upto=1)

    stale = target.mirror(source, target.interposing(lambda: target.mirror(source, upto=5)), upto=goal)

    assert_mirrors(target, source, upto=max(5, goal))
    assert [landed.version for landed in stale.landed] == list(range(6, goal + 1))
    assert stale.found_landed == (2, 3, 4, 5)
    assert stale.version == max(5, goal)


def test_a_run_that_loses_every_time_to_one_that_lands_less_still_comes_to_its_goal(
    target: Target, source: HandTable
) -> None:
    """A conflict with somebody who made the mirror newer is progress, so no number of them ends the run."""
    source.appends(30)
    target.mirror(source, upto=0)

    catalog = target.interposing(*[lambda goal=goal: target.mirror(source, upto=goal) for goal in range(1, 26)])
    receipt = target.mirror(source, catalog)

    assert_mirrors(target, source)
    assert receipt.found_landed == tuple(range(1, 26))
    assert [landed.version for landed in receipt.landed] == list(range(26, 31))
    assert (receipt.attempts, len(receipt.conflicts)) == (26, 25)


def test_a_foreign_commit_in_between_is_refused_and_not_built_upon(target: Target, source: HandTable) -> None:
    """It comes after the look at the table, so that only the commit itself can see it."""
    source.appends(3)
    target.mirror(source, upto=1)

    with pytest.raises(SourceMismatchError) as refused:
        target.mirror(source, target.interposing(target.append_rows))

    assert str(target.head()) in refused.value.reason
    assert versions(target.table()) == [0, 1, None]


def test_a_column_that_somebody_adds_in_between_is_gone_in_the_next_version(target: Target, source: HandTable) -> None:
    """A change of form makes no snapshot that would tell of it."""
    source.appends(3)
    target.mirror(source, upto=1)

    target.mirror(source, target.interposing(target.add_column))

    assert_mirrors(target, source)
    assert target.table().schema().column_names == ["id"]


def test_a_table_that_was_started_over_in_between_is_left_to_whoever_did_it(target: Target, source: HandTable) -> None:
    """What was computed for the old table must not land in the new one."""
    source.appends(5)
    target.mirror(source, upto=2)

    with pytest.raises(TableReplacedError):
        target.mirror(source, target.interposing(lambda: target.mirror(source, upto=3, start_over=True)))

    assert_mirrors(target, source, upto=3)


def test_a_table_that_was_started_over_between_two_batches_is_too(target: Target, source: HandTable) -> None:
    """The receipt would tell of snapshots that are in no table any more."""
    source.appends(5)
    target.mirror(source, upto=0)

    with pytest.raises(TableReplacedError):
        target.mirror(
            source, batch=2, progress=lambda done: done.version == 2 and target.mirror(source, upto=1, start_over=True)
        )

    assert_mirrors(target, source, upto=1)


def test_one_that_starts_over_and_is_overtaken_by_another_leaves_its_history_alone(
    target: Target, source: HandTable
) -> None:
    """Its own table is gone by the time it commits."""
    source.appends(4)
    target.mirror(source)

    with pytest.raises(TableReplacedError):
        target.mirror(source, target.interposing(lambda: target.mirror(source, start_over=True)), start_over=True)

    assert_mirrors(target, source)


@pytest.mark.parametrize("comes_back", [False, True])
def test_one_that_starts_over_takes_it_that_another_has_dropped_the_table(
    target: Target, source: HandTable, comes_back: bool
) -> None:
    """Between its look at the table and its own drop; the other may have made a new one by then."""
    source.appends(4)
    target.mirror(source)
    catalog = target.interposing()
    catalog.before_drop = lambda: target.mirror(source, start_over=True) if comes_back else target.drop()

    target.mirror(source, catalog, start_over=True)

    assert_mirrors(target, source)
