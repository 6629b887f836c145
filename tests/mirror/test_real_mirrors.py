"""Delta tables that others wrote, most of them by Spark: each is mirrored equal at every version, or refused by name.

What is expected of each stands in `EXPECTED`; docs/mirror.md says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import EqualTo
from pyiceberg.manifest import DataFileContent
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from seriatim.errors import DeltaLogError, HistoryGapError, MirrorError, UnsupportedFeatureError
from seriatim.mirror import mirror, snapshot_of
from tests.engines.readers import read_with_duckdb
from tests.mirror.delta_logs import needs_real_tables, real_tables
from tests.mirror.delta_oracle import open_version
from tests.mirror.equality import delta_table, iceberg_table, require_same_rows

pytestmark = [needs_real_tables, pytest.mark.slow]


def _name(source: Path) -> str:
    return "golden" if source.parent.name == "golden" else source.name


@dataclass(frozen=True, slots=True)
class Expected:
    """What becomes of a table."""

    first: int = 0  # the first version that has a snapshot; those before cannot be told apart
    gone: int | None = None  # the last version that is gone from the log; None: the one before `first`
    last: int | None = 0  # None: nothing is mirrored
    refusal: type[MirrorError] | None = None
    says: str = ""
    has_files: bool = True  # whether its data files are there, so that rows can be compared
    is_wrapped: bool = False  # whether Arrow reads its times wrong, which are INT96 and beyond what ns can say


EXPECTED = {
    "COVID-19_NYT": Expected(),
    "cdc_ict_table": Expected(last=3),
    "cdf-table": Expected(last=3),
    "cdf-table-with-cdc-and-dvs": Expected(last=25),
    "checkpoint-cdf-table": Expected(first=3, last=5),
    "checkpoint-v2-table": Expected(last=9),
    "checkpoint_with_partitions": Expected(last=None, refusal=DeltaLogError, says="must say how many rows it has"),
    "checkpoints": Expected(last=12, has_files=False),
    "checkpoints_vacuumed": Expected(first=5, last=12, has_files=False),
    "delta-0.2.0": Expected(last=3),
    "delta-0.8.0": Expected(last=1),
    "delta-0.8.0-date": Expected(),
    "delta-0.8.0-null-partition": Expected(),
    "delta-0.8.0-numeric-partition": Expected(last=None, refusal=UnsupportedFeatureError, says="9.9"),
    "delta-0.8.0-partitioned": Expected(),
    "delta-0.8.0-special-partition": Expected(),
    "delta-1.2.1-only-struct-stats": Expected(last=12),
    "delta-2.2.0-partitioned-types": Expected(),
    "delta-live-table": Expected(last=1),
    "delta-stats-optional": Expected(last=2),
    "golden": Expected(),
    "http_requests": Expected(last=1),
    "issue-2152": Expected(),
    "issue_1374": Expected(last=1),
    "latest_not_checkpointed": Expected(last=3, has_files=False),
    "partition-type-primitives": Expected(),
    "simple_commit": Expected(),
    "simple_table": Expected(last=4),
    "simple_table_features": Expected(last=None, refusal=UnsupportedFeatureError, says="reader version 5"),
    "simple_table_with_cdc": Expected(last=2),
    "simple_table_with_checkpoint": Expected(last=10),
    "spark-variant-stable-feature-checkpoint": Expected(
        last=None, refusal=UnsupportedFeatureError, says="version 0.* uses the type variant in column 'v'"
    ),
    "table-with-domain-metadata": Expected(first=108, gone=108, last=108, has_files=False),
    "table-with-dv-small": Expected(last=1),
    "table_failed_last_checkpoint_update": Expected(last=3),
    "table_with_column_mapping": Expected(),
    "table_with_deletion_logs": Expected(last=20),
    "table_with_edge_timestamps": Expected(is_wrapped=True),
    "table_with_liquid_clustering": Expected(),
    "table_with_null_stats_in_notnull_struct": Expected(last=1),
    "table_with_partitioning_mapping": Expected(last=4),
    "with_checkpoint_no_last_checkpoint": Expected(last=3, has_files=False),
}
FILTERED_ROWS_MAX = 12  # of a table whose every value is looked for by an equality filter


def test_every_table_is_expected() -> None:
    assert {_name(source) for source in real_tables()} == set(EXPECTED)


@pytest.mark.parametrize("source", real_tables(), ids=_name)
def test_it_is_mirrored_equal_or_refused(catalog: Catalog, source: Path) -> None:
    expected = EXPECTED[_name(source)]
    if expected.first > 0:
        with pytest.raises(
            HistoryGapError, match=f"versions 0 to {expected.first - 1 if expected.gone is None else expected.gone} "
        ):
            mirror(str(source), catalog, "mirrors.it")
    if expected.refusal is not None:
        with pytest.raises(expected.refusal, match=expected.says):
            mirror(str(source), catalog, "mirrors.it", on_gap="snapshot")
    if expected.last is None:
        assert catalog.load_table("mirrors.it").current_snapshot() is None
        return

    receipt = mirror(str(source), catalog, "mirrors.it", on_gap="snapshot")

    assert [each.version for each in receipt.landed] == list(range(expected.first, expected.last + 1))
    table = catalog.load_table("mirrors.it")
    for version in range(expected.first, expected.last + 1):
        _require_equal(source, version, table, expected)
    if expected.has_files and not expected.is_wrapped:
        _require_found(table)


def _require_equal(source: Path, version: int, table: Table, expected: Expected) -> None:
    snapshot = snapshot_of(table, version)
    assert snapshot is not None
    opened = open_version(source, version)
    if opened is None:
        return  # deltalake cannot say what it is; those that it cannot open are few, and listed in the documentation.
    assert _data_files(table, snapshot) == sorted(opened.file_uris())
    if expected.has_files:
        want = delta_table(opened)
        require_same_rows(iceberg_table(table, snapshot.snapshot_id), want)
        if not expected.is_wrapped:
            require_same_rows(read_with_duckdb(table, snapshot.snapshot_id), want)


def _data_files(table: Table, snapshot: Snapshot) -> list[str]:
    entries = (entry for each in snapshot.manifests(table.io) for entry in each.fetch_manifest_entry(table.io))
    return sorted(each.data_file.file_path for each in entries if each.data_file.content == DataFileContent.DATA)


def test_times_that_arrow_wraps_are_right_in_the_mirror(catalog: Catalog) -> None:
    (source,) = [each for each in real_tables() if _name(each) == "table_with_edge_timestamps"]

    (landed,) = mirror(str(source), catalog, "mirrors.it").landed

    rows = read_with_duckdb(catalog.load_table("mirrors.it"), landed.snapshot_id)
    assert {time.isoformat() for time in rows["BIG_DATE"].to_pylist()} == {
        "9999-12-31T00:00:00+00:00",
        "9999-12-30T00:00:00+00:00",
    }


def _require_found(table: Table) -> None:
    """Look for every value of a small table by a filter: bounds that are too narrow would hide its row."""
    rows = table.scan().to_arrow_batch_reader().read_all()
    if rows.num_rows > FILTERED_ROWS_MAX:
        return
    for field in table.schema().fields:
        if not field.field_type.is_primitive:
            continue
        for value in set(rows[field.name].to_pylist()) - {None}:
            found = table.scan(EqualTo(field.name, value)).to_arrow_batch_reader().read_all()
            assert found.num_rows == sum(each == value for each in rows[field.name].to_pylist())
