"""Any sequence of Delta's operations, mirrored in any batches, with rollbacks and failures: one history."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.manifest import DataFileContent, ManifestEntryStatus
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from seriatim.commit import RetryPolicy
from seriatim.errors import SeriatimError
from tests.faults.catalog import Fault, Landing
from tests.mirror.hand_table import HandTable
from tests.mirror.targets import Target, assert_mirrors, history, said

Draw = random.Random
REPORTS = (CommitFailedException, CommitStateUnknownException, ConnectionError)


def append(table: HandTable, draw: Draw) -> None:
    table.append(draw.randint(1, 4))


def delete_rows(table: HandTable, draw: Draw) -> None:
    path = draw.choice(sorted(table.live))
    left = [at for at in range(len(table.files[path])) if at not in table.live[path]]
    table.delete(path, *table.live[path], *draw.sample(left, min(len(left), draw.randint(1, 2))))


def restore_rows(table: HandTable, draw: Draw) -> None:
    path = draw.choice(sorted(table.live))
    table.delete(path, *draw.sample(sorted(table.live[path]), len(table.live[path]) // 2))


def drop(table: HandTable, draw: Draw) -> None:
    table.drop(draw.choice(sorted(table.live)))


def overwrite(table: HandTable, draw: Draw) -> None:
    table.overwrite()


def optimize(table: HandTable, draw: Draw) -> None:
    paths = sorted(table.live)
    table.rewrite(draw.sample(paths, draw.randint(1, len(paths))))


def restore(table: HandTable, draw: Draw) -> None:
    table.restore(draw.randint(0, table.version))


def compute_stats(table: HandTable, draw: Draw) -> None:
    table.compute_stats()


def touch(table: HandTable, draw: Draw) -> None:
    table.touch()


OPERATIONS: tuple[Callable[[HandTable, Draw], None], ...] = (
    append,
    delete_rows,
    restore_rows,
    drop,
    overwrite,
    optimize,
    restore,
    compute_stats,
    touch,
)
NEEDS_FILES = (delete_rows, restore_rows, drop, optimize)


def grow(table: HandTable, operations: list[Callable[[HandTable, Draw], None]], draw: Draw) -> None:
    """Do the operations in turn; one that needs a file appends one where there is none."""
    for operation in operations:
        (append if operation in NEEDS_FILES and not table.live else operation)(table, draw)


def run_until_there(target: Target, source: HandTable, draw: Draw) -> None:
    """Mirror by runs of which some fail and some are rolled back, until one lands the rest."""
    for _ in range(draw.randint(0, 5)):
        catalog = target.connect()
        if draw.random() < 0.4:
            catalog.fail(
                *[None] * draw.randint(0, 1), Fault(draw.choice(REPORTS)("scripted"), draw.choice(list(Landing)))
            )
        options: dict[str, Any] = {"upto": draw.randint(0, source.version), "batch": draw.randint(1, 5)}
        with suppress(SeriatimError):  # The commit may be on its way.
            target.mirror(source, catalog, policy=RetryPolicy(attempts_max=draw.randint(1, 2)), **options)
        if draw.random() < 0.3 and (snapshots := history(target.table())):
            target.roll_back(draw.choice(snapshots).snapshot_id)
        catalog.deliver()
    target.mirror(source, batch=draw.choice([None, 2]))


def check(operations: list[Callable[[HandTable, Draw], None]], seed: int, path: Path) -> None:
    """Make the table, mirror it in a mixed way and one by one, and compare."""
    draw = random.Random(seed)
    source = HandTable(path / "delta")
    grow(source, operations, draw)
    mixed, one_by_one = Target(path / "mixed"), Target(path / "one by one")
    try:
        run_until_there(mixed, source, draw)
        one_by_one.mirror(source, batch=1)
        for target in (mixed, one_by_one):
            assert_mirrors(target, source)
        tables = mixed.table(), one_by_one.table()
        assert described(tables[0]) == described(tables[1])
        assert appended(tables[0]) == appended(tables[1])
        for target in (mixed, one_by_one):
            assert target.inventory().missing == []
    finally:
        mixed.close()
        one_by_one.close()


def described(table: Table) -> list[tuple[object, ...]]:
    """Return of each snapshot what must not depend on how it was landed."""
    return [(said(each), operation_of(each), *totals(each)) for each in history(table)]


def totals(snapshot: Snapshot) -> list[str | None]:
    assert snapshot.summary is not None
    keys = ("total-records", "total-data-files", "total-delete-files", "total-position-deletes", "added-records")
    return [snapshot.summary.additional_properties.get(key) for key in keys]


def operation_of(snapshot: Snapshot) -> Operation:
    assert snapshot.summary is not None
    return snapshot.summary.operation


def appended(table: Table) -> list[tuple[int | None, list[str]]]:
    """Return what a reader sees that follows appends: the files that each appending snapshot has added, by name."""
    return [
        (said(each), sorted(added(table, each))) for each in history(table) if operation_of(each) is Operation.APPEND
    ]


def added(table: Table, snapshot: Snapshot) -> Iterator[str]:
    for manifest in snapshot.manifests(table.io):
        if manifest.added_snapshot_id != snapshot.snapshot_id:
            continue
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            if entry.status == ManifestEntryStatus.ADDED and entry.data_file.content == DataFileContent.DATA:
                assert entry.snapshot_id == snapshot.snapshot_id
                yield Path(entry.data_file.file_path).name


sequences = given(
    st.lists(st.sampled_from(OPERATIONS), min_size=3, max_size=14),
    st.integers(min_value=0, max_value=2**32),
)


@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@sequences
def test_however_it_is_mirrored_the_history_is_the_same(
    operations: list[Callable[[HandTable, Draw], None]], seed: int
) -> None:
    """Batches, rollbacks and lost replies are nothing that a reader could tell."""
    with TemporaryDirectory() as folder:
        check(operations, seed, Path(folder))


@pytest.mark.exhaustive
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@sequences
def test_however_many_sequences_are_tried(operations: list[Callable[[HandTable, Draw], None]], seed: int) -> None:
    """More of the same."""
    with TemporaryDirectory() as folder:
        check([*operations, *operations[:3]], seed + 1, Path(folder))


@pytest.mark.parametrize("batch", [1, 2, None])
def test_each_operation_is_said_in_icebergs_words(target: Target, source: HandTable, batch: int | None) -> None:
    """A reader that follows appends sees every new row once; one that follows changes none that Delta denies."""
    first, second = source.append(), source.append()
    source.delete(first, 0)  # A deletion vector appears,
    source.delete(first, 0, 2)  # grows,
    source.delete(first, 2)  # shrinks,
    source.delete(first)  # and goes.
    source.delete(second, 1)
    source.rewrite([second], "REORG")  # It is purged.
    source.compute_stats()
    source.restore(7)  # What was purged is back, with its deletion vector.
    source.drop(first)
    source.overwrite()
    source.touch()
    third = source.append()

    target.mirror(source, batch=batch)

    assert_mirrors(target, source)
    assert [operation_of(each).value for each in history(target.table())] == [
        "append",
        "append",
        "append",
        "delete",
        "overwrite",
        "overwrite",
        "overwrite",
        "delete",
        "replace",
        "append",
        "overwrite",
        "delete",
        "overwrite",
        "append",
        "append",
    ]
    table = target.table()
    seen = [name for _, names in appended(table) for name in names]
    assert seen == [first, second, third]
    followed = [newly_appended(table, version) for version in range(1, 15)]
    expected = [source.files.get({1: first, 2: second, 14: third}.get(version, ""), []) for version in range(1, 15)]
    assert followed == expected


def test_a_file_is_removed_only_with_the_deletion_vector_that_it_has(target: Target, source: HandTable) -> None:
    """Delta protocol, "Action Reconciliation": a file is known by its path and its deletion vector."""
    path = source.append()
    source.delete(path, 0)
    source.remove_what_is_not_there(path)
    source.remove_what_is_not_there(path, 0, 1)

    target.mirror(source)

    assert_mirrors(target, source)


def newly_appended(table: Table, version: int) -> list[int]:
    """Return the ids that PyIceberg's own reader of appends finds new in a version."""
    snapshots = history(table)
    scan = table.incremental_append_scan(
        from_snapshot_id_exclusive=snapshots[version - 1].snapshot_id,
        to_snapshot_id_inclusive=snapshots[version].snapshot_id,
    )
    return sorted(scan.to_arrow()["id"].to_pylist())
