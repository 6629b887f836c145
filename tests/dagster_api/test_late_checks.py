"""The checks that say when a mirror or a table is late."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.table.snapshots import Snapshot

from seriatim.commit import apply
from seriatim.dagster import IcebergCatalog, freshness_check, mirror_lag_check
from seriatim.dagster.delta_source import DeltaTableSource
from seriatim.mirror import mirror
from seriatim.upkeep import compact
from tests.dagster_api.accounts import SCHEMA, TABLE, TABLE_KEY, add, evaluated, put
from tests.faults.clock import ManualClock

MIRROR = ("bank", "events")
HOUR = timedelta(hours=1)
HOUR_MS = 3_600_000


class Source:
    """A Delta table and its mirror."""

    def __init__(self, folder: Path, catalog: IcebergCatalog) -> None:
        self.uri, self._catalog = str(folder / "events"), catalog

    def arrive(self, versions: int) -> None:
        """Append that many versions."""
        for _ in range(versions):
            write_deltalake(self.uri, pa.table({"id": [1]}), mode="append")

    def mirror(self) -> None:
        """Bring the mirror up to date."""
        mirror(self.uri, self._catalog.load(), MIRROR)

    def lag(self, versions_max: int) -> dg.AssetCheckEvaluation:
        """Run the check."""
        check = mirror_lag_check(asset_key=TABLE_KEY, identifier=MIRROR, versions_max=versions_max)
        source = DeltaTableSource(table_uri=self.uri)
        (found,) = evaluated(check, self._catalog, resources={"delta": source}).values()
        return found


@pytest.fixture
def source(tmp_path: Path, catalog: IcebergCatalog) -> Source:
    return Source(tmp_path, catalog)


def test_a_mirror_may_be_as_late_as_is_said_and_no_later(source: Source) -> None:
    source.arrive(2)
    source.mirror()
    source.arrive(3)

    near, late = source.lag(3), source.lag(2)

    assert (near.passed, late.passed, late.severity) == (True, False, dg.AssetCheckSeverity.WARN)
    assert {name: late.metadata[name].value for name in late.metadata} == {
        "lag": 3,
        "versions_max": 2,
        "version": 1,
        "delta_version": 4,
    }
    assert "at version 1 of 4, lag 3" in (late.description or "")


def test_a_mirror_that_is_up_to_date_may_be_asked_for(source: Source) -> None:
    source.arrive(1)
    source.mirror()

    assert source.lag(0).passed


def test_a_mirror_that_is_not_there_yet_is_behind_by_every_version(source: Source) -> None:
    source.arrive(2)

    assert (source.lag(2).passed, source.lag(1).passed) == (True, False)


def test_a_lag_that_is_not_known_does_not_pass(source: Source) -> None:
    """There is no Delta table."""
    found = source.lag(1_000)

    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert source.uri in (found.description or "")


def test_a_mirror_that_is_ahead_of_its_source_does_not_pass(source: Source, tmp_path: Path) -> None:
    """Its source was made anew, and has fewer versions."""
    source.arrive(2)
    source.mirror()
    (tmp_path / "events").rename(tmp_path / "old")
    source.arrive(1)

    found = source.lag(1_000)

    assert (found.passed, found.metadata["lag"].value) == (False, -1)
    assert "set back" in (found.description or "")


def head_of(catalog: IcebergCatalog) -> Snapshot:
    head = catalog.load().load_table(TABLE).current_snapshot()
    assert head is not None
    return head


def fresh(catalog: IcebergCatalog, now_ms: float) -> dg.AssetCheckEvaluation:
    """Run the check, which allows an hour, at a time."""
    clock = ManualClock()
    clock.seconds = now_ms / 1000
    check = freshness_check(asset_key=TABLE_KEY, identifier=("bank", "account"), age_max=HOUR, clock=clock)
    (found,) = evaluated(check, catalog).values()
    return found


def test_a_table_is_fresh_until_its_newest_commit_is_too_old(catalog: IcebergCatalog) -> None:
    """Whoever made the commit: the first is of plain PyIceberg, the second is ours."""
    for commit in (lambda: put(catalog, {8: 1}), lambda: apply(catalog.load(), TABLE, add(1))):
        commit()
        head = head_of(catalog)

        still, no_longer = fresh(catalog, head.timestamp_ms + HOUR_MS), fresh(catalog, head.timestamp_ms + HOUR_MS + 1)

        assert (still.passed, no_longer.passed, no_longer.severity) == (True, False, dg.AssetCheckSeverity.WARN)
        assert no_longer.metadata["snapshot_id"].value == str(head.snapshot_id)
        assert no_longer.metadata["dagster/last_updated_timestamp"].value == head.timestamp_ms / 1000
        assert no_longer.metadata["age_s"].value == 3600


def test_a_compaction_makes_nothing_fresh(catalog: IcebergCatalog) -> None:
    """It is newer than the commit by which the rows came, which is what counts."""
    put(catalog, {8: 1})
    came = head_of(catalog)
    compact(catalog.load(), TABLE)
    assert head_of(catalog).snapshot_id != came.snapshot_id

    found = fresh(catalog, came.timestamp_ms)

    assert (found.passed, found.metadata["snapshot_id"].value) == (True, str(came.snapshot_id))


def test_a_history_of_compactions_alone_is_not_known_to_be_fresh(catalog: IcebergCatalog) -> None:
    put(catalog, {8: 1})
    compact(catalog.load(), TABLE)
    compaction = head_of(catalog)
    table = catalog.load().load_table(TABLE)
    older = [each.snapshot_id for each in table.snapshots() if each.snapshot_id != compaction.snapshot_id]
    table.maintenance.expire_snapshots().by_ids(older).commit()

    found = fresh(catalog, compaction.timestamp_ms)

    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "compactions" in (found.description or "")


def test_what_was_never_written_is_not_fresh(catalog: IcebergCatalog) -> None:
    """A table that is not there, and an empty one."""
    catalog.load().drop_table(TABLE)
    assert not fresh(catalog, 0).passed

    catalog.ensure_table(TABLE, SCHEMA)
    assert not fresh(catalog, 0).passed
