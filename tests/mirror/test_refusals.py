"""What the mirror refuses: it says what is wrong, and nothing is written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from seriatim.errors import (
    DeltaLogError,
    HistoryGapError,
    MirrorError,
    SourceMismatchError,
    UnsupportedFeatureError,
)
from seriatim.mirror import mirror
from tests.mirror.delta_logs import METADATA, write_commit
from tests.mirror.hand_table import HandTable
from tests.mirror.targets import Target, assert_mirrors, history, ids_at, versions


@pytest.fixture
def source(source: HandTable) -> HandTable:
    """Four versions."""
    source.appends(3)
    return source


@contextmanager
def refused(target: Target, kind: type[MirrorError] = SourceMismatchError) -> Iterator[list[MirrorError]]:
    """Expect that error, and that nothing is written by whoever raises it."""
    before, location = target.inventory(), target.table().metadata_location
    errors: list[MirrorError] = []
    with pytest.raises(kind) as raised:
        yield errors
    errors.append(raised.value)
    assert target.table().metadata_location == location
    assert target.inventory() == before


def test_a_foreign_commit_is_refused_until_it_is_rolled_back(target: Target, source: HandTable) -> None:
    """The snapshot is named, since it is what the user has to look at."""
    target.mirror(source, upto=1)
    target.append_rows()

    with refused(target) as errors:
        target.mirror(source)
    assert f"snapshot {target.head()}" in str(errors[0])

    target.set_back(1)
    target.mirror(source)
    assert_mirrors(target, source)


@pytest.mark.parametrize("start_over", [False, True])
@pytest.mark.parametrize("rows", [0, 3])
def test_a_table_that_is_no_mirror_is_refused(target: Target, source: HandTable, rows: int, start_over: bool) -> None:
    """Empty or not: it is somebody's. `start_over` would drop it."""
    with target.rival() as catalog:
        catalog.create_table(target.identifier, Schema(NestedField(1, "id", LongType())))
    if rows:
        target.append_rows()

    with refused(target):
        target.mirror(source, start_over=start_over)


def test_another_delta_table_is_refused(target: Target, source: HandTable, tmp_path: Path) -> None:
    """It has more versions than the mirror, so that only its id tells."""
    other = HandTable(tmp_path / "other", table_id="another-table")
    other.appends(8)
    target.mirror(source)

    with refused(target) as errors:
        target.mirror(other)
    assert "another-table" in str(errors[0])
    assert "a-table" in str(errors[0])


def test_another_delta_table_is_refused_by_a_mirror_of_which_nothing_has_landed(
    target: Target, source: HandTable, tmp_path: Path
) -> None:
    """A run was killed when it had made the table; it is that Delta table's all the same."""
    other = HandTable(tmp_path / "other", table_id="another-table")
    target.make_empty(source)

    with refused(target):
        target.mirror(other)


def test_a_delta_table_that_was_set_back_is_refused(target: Target, source: HandTable) -> None:
    """Both versions are named."""
    target.mirror(source)
    for version in (2, 3):
        source.commit_file(version).unlink()

    with refused(target) as errors:
        target.mirror(source)
    assert "version 3" in str(errors[0])
    assert "latest is 1" in str(errors[0])


def test_a_delta_table_that_was_made_anew_is_refused_and_started_over(target: Target, source: HandTable) -> None:
    """Its history is a new one, of exactly its versions."""
    target.mirror(source)
    shutil.rmtree(source.path)
    anew = HandTable(source.path, table_id="made-anew")
    anew.appends(5)

    with refused(target):
        target.mirror(anew)

    receipt = target.mirror(anew, start_over=True)
    assert_mirrors(target, anew)
    assert (receipt.base_version, receipt.found_landed) == (None, ())


def test_a_delta_table_that_went_another_way_after_what_was_mirrored_is_refused(
    target: Target, source: HandTable
) -> None:
    """Restored from a backup, and written on: the id is the same, the versions are not."""
    target.mirror(source)
    states = source.states[:2]
    for version in (2, 3):
        source.commit_file(version).unlink()
    source.states = states
    source.delay_ms = 7
    source.appends(5)

    with refused(target) as errors:
        target.mirror(source)
    assert "version 3" in str(errors[0])


@pytest.mark.parametrize("damage", ["no log", "nothing but rubbish", "a gap"])
def test_starting_over_takes_nothing_away_that_it_cannot_put_back(
    target: Target, source: HandTable, damage: str
) -> None:
    """A wrong address would cost the whole mirror."""
    target.mirror(source)
    match damage:
        case "no log":
            shutil.rmtree(source.path)
        case "nothing but rubbish":
            for version in range(4):
                source.commit_file(version).write_text("{", encoding="utf-8")
        case "a gap":
            source.cut_log(2)

    with refused(target, MirrorError):
        target.mirror(source, start_over=True)


@pytest.mark.parametrize("options", [{"upto": -1}, {"batch": 0}, {"batch": -1}])
def test_what_allows_nothing_is_refused(target: Target, source: HandTable, options: dict[str, Any]) -> None:
    """Before a table is made."""
    with pytest.raises(ValueError, match="must be"):
        target.mirror(source, **options)
    with pytest.raises(NoSuchTableError):
        target.table()


def spoil(source: HandTable, version: int) -> None:
    """Give a version a column of a type that Iceberg has not, as an ALTER TABLE does."""
    schema = {
        "type": "struct",
        "fields": [
            {"name": "id", "type": "long", "nullable": True, "metadata": {}},
            {"name": "v", "type": "variant", "nullable": True, "metadata": {}},
        ],
    }
    body = {**METADATA["metaData"], "schemaString": json.dumps(schema)}
    write_commit(
        source.path,
        version,
        {"commitInfo": {"operation": "ADD COLUMNS", "timestamp": 1_000 * (version + 1)}},
        {"metaData": body},
    )


@pytest.mark.parametrize("batch", [None, 1, 2])
def test_those_before_a_version_that_cannot_be_mirrored_land(
    target: Target, source: HandTable, batch: int | None
) -> None:
    """The error names what failed, and not the newest version."""
    source.appends(3)
    spoil(source, 4)

    for _ in range(2):  # It does not wear off.
        with pytest.raises(UnsupportedFeatureError) as refusal:
            target.mirror(source, batch=batch)
        assert (refusal.value.version, refusal.value.operation) == (4, "ADD COLUMNS")
        assert (refusal.value.feature, refusal.value.column) == ("the type variant", "v")
        assert_mirrors(target, source, upto=3)
    assert target.mirror(source, upto=3).lag == 3


@pytest.mark.parametrize("cut_to", [1, 20, 100])
def test_a_commit_file_that_is_cut_short_stops_the_mirror_before_it(
    target: Target, source: HandTable, cut_to: int
) -> None:
    """When it is whole, the next run goes on."""
    source.appends(3)
    whole = source.commit_file(4).read_bytes()
    source.commit_file(4).write_bytes(whole[:cut_to])

    with pytest.raises(DeltaLogError) as refusal:
        target.mirror(source)
    assert refusal.value.version == 4
    assert_mirrors(target, source, upto=3)

    source.commit_file(4).write_bytes(whole)
    target.mirror(source)
    assert_mirrors(target, source)


def test_a_gap_before_a_mirror_that_is_absent_is_named(target: Target, source: HandTable) -> None:
    """And may be closed by a snapshot that says which versions it stands for."""
    source.appends(3)
    source.cut_log(3)

    with pytest.raises(HistoryGapError) as refusal:
        target.mirror(source)
    assert (refusal.value.missing_from, refusal.value.missing_upto) == (0, 2)

    receipt = target.mirror(source, on_gap="snapshot")
    assert_closed(target, source, receipt.landed[0].gap_from, 0)


def test_a_gap_after_the_watermark_is_named(target: Target, source: HandTable) -> None:
    """The versions before and after are mirrored one by one."""
    first = source.append()
    source.delete(first, 0)
    target.mirror(source)
    source.delete(first, 0, 2)
    source.rewrite([first])
    source.appends(3)
    source.cut_log(8)

    with refused(target, HistoryGapError) as errors:
        target.mirror(source)
    assert isinstance(errors[0], HistoryGapError)
    assert (errors[0].missing_from, errors[0].missing_upto) == (6, 7)

    receipt = target.mirror(source, on_gap="snapshot")
    assert_closed(target, source, receipt.landed[0].gap_from, 6)
    assert target.mirror(source, on_gap="snapshot").is_noop


def test_a_goal_that_lies_in_a_gap_is_a_gap(target: Target, source: HandTable) -> None:
    """Nothing is left that could tell what the table was then."""
    source.appends(3)
    source.cut_log(4)

    with pytest.raises(HistoryGapError) as gap:
        target.mirror(source, upto=2)
    assert (gap.value.missing_from, gap.value.missing_upto) == (0, 2)

    with pytest.raises(DeltaLogError) as refusal:
        target.mirror(source, upto=2, on_gap="snapshot")
    assert refusal.value.version == 2


def test_overlapping_runs_close_a_gap_once(target: Target, source: HandTable) -> None:
    """The one flagged snapshot is a version like any other."""
    source.appends(3)
    source.cut_log(3)

    rival = target.interposing(lambda: target.mirror(source, on_gap="snapshot", upto=4))
    target.mirror(source, rival, on_gap="snapshot")

    assert_closed(target, source, 0, 0)


def assert_closed(target: Target, source: HandTable, gap_from: int | None, expected_from: int) -> None:
    """One snapshot is flagged as standing for the gap; it and all others have Delta's rows."""
    table = target.table()
    snapshots, numbers = history(table), versions(table)
    flagged = [each for each in snapshots if each.summary and "delta-gap-from" in each.summary.additional_properties]
    assert gap_from == expected_from
    assert len(flagged) == 1
    summary = flagged[0].summary
    assert summary is not None
    assert summary.additional_properties["delta-gap-from"] == str(expected_from)
    closing = numbers[snapshots.index(flagged[0])]
    assert closing is not None
    assert numbers == [*range(expected_from), *range(closing, source.version + 1)]
    for snapshot, version in zip(snapshots, numbers, strict=True):
        assert version is not None
        assert ids_at(table, snapshot) == source.ids(version)


def test_a_table_that_is_reached_by_another_address_is_refused(
    tmp_path: Path, target: Target, source: HandTable
) -> None:
    """A file is known by its location: what is removed under another would stay in the mirror."""
    target.mirror(source, upto=1)
    link = tmp_path / "link"
    link.symlink_to(source.uri, target_is_directory=True)

    with refused(target) as errors:
        mirror(str(link), target.connect(), target.identifier)
    assert f"now they are below {link}" in str(errors[0])

    target.mirror(source)
    assert_mirrors(target, source)
