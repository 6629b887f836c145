"""The logs of tables that other programs wrote, most of them Spark, read as deltalake reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from seriatim.errors import DeltaLogError, HistoryGapError, UnsupportedFeatureError
from seriatim.mirror.delta.actions import State
from seriatim.mirror.delta.features import require_readable
from seriatim.mirror.delta.log import DeltaLog
from tests.mirror.delta_logs import needs_real_tables, open_log, real_tables, replayed
from tests.mirror.delta_oracle import open_version, require_equal

# Versions that come after versions that are gone, with no checkpoint to begin from.
FIRST_STATES = {
    "checkpoint-cdf-table": 3,
    "checkpoint_with_partitions": 2,
    "checkpoints_vacuumed": 5,
    "table-with-domain-metadata": 108,
}
# deltalake does not open these, and says why: no schema, and reader features where the protocol has no place for them.
NOT_FOR_DELTALAKE = {"delta-live-table": {0}, "simple_table_features": set(range(5))}

pytestmark = needs_real_tables
each_table = pytest.mark.parametrize("table", real_tables(), ids=lambda table: table.name)


@each_table
def test_every_version_is_what_deltalake_says(table: Path) -> None:
    """By its state, and by replaying single commits from the first state that there is."""
    log = open_log(table)
    first, latest = FIRST_STATES.get(table.name, 0), log.latest_version()
    start: State | None = None

    for version in range(first, latest + 1):
        state = log.state(version)
        start = start or state
        assert replayed(log, start, version) == set(state.files)
        if log.first_commit() == 0:
            assert replayed(log, None, version) == set(state.files)
        opened = open_version(table, version)
        assert (opened is None) == (version in NOT_FOR_DELTALAKE.get(table.name, ()))
        if opened is not None:
            require_equal(log, state, opened)


@each_table
def test_what_is_gone_is_refused(table: Path) -> None:
    """Deltalake cannot open these versions either."""
    log = open_log(table)
    for version in range(FIRST_STATES.get(table.name, 0)):
        assert open_version(table, version) is None
        with pytest.raises(DeltaLogError):
            log.state(version)
    if log.first_commit() != 0:
        with pytest.raises(HistoryGapError) as gap:
            log.commits(-1, log.latest_version())
        assert gap.value.missing_from == 0
        assert gap.value.missing_upto == (log.latest_version() + 1 if (f := log.first_commit()) is None else f) - 1


@each_table
def test_only_a_protocol_of_the_future_is_refused(table: Path) -> None:
    log: DeltaLog = open_log(table)
    protocol, metadata = log.head(log.latest_version())
    if table.name != "simple_table_features":
        require_readable(log.source, log.latest_version(), protocol, metadata)
        return
    with pytest.raises(UnsupportedFeatureError) as refused:
        require_readable(log.source, log.latest_version(), protocol, metadata)
    assert refused.value.feature == "reader version 5"


def test_in_commit_timestamps_are_what_the_log_says() -> None:
    """Delta's own: the first field of the commit's information."""
    (table,) = (table for table in real_tables() if table.name == "cdc_ict_table")
    log = open_log(table)

    said = [int(line.partition('"inCommitTimestamp":')[2].partition(",")[0]) for line in _first_lines(table)]
    assert [commit.timestamp_ms for commit in log.commits(-1, 3)] == said


def test_statistics_that_spark_wrote_as_columns_are_those_that_it_committed() -> None:
    """The commits before the checkpoint are still there to compare; of times, columns have more digits."""
    (table,) = (table for table in real_tables() if table.name == "delta-1.2.1-only-struct-stats")
    log = open_log(table)

    from_checkpoint = log.state(10).files
    from_commits = {add.key: add for commit in log.commits(-1, 10) for add in commit.adds}
    assert from_checkpoint
    for key, file in from_checkpoint.items():
        committed = from_commits[key].stats
        assert file.stats is not None
        assert committed is not None
        assert file.stats["numRecords"] == committed["numRecords"]
        for bound in ("minValues", "maxValues"):
            ours, said = dict(file.stats[bound]), dict(committed[bound])
            assert ours.pop("timestamp", "")[:19] == said.pop("timestamp", "")[:19]
            assert ours == said


def _first_lines(table: Path) -> list[str]:
    return [file.read_text().partition("\n")[0] for file in sorted((table / "_delta_log").glob("0*.json"))]
