"""Tables that deltalake writes, read as it reads them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from seriatim.errors import HistoryGapError
from seriatim.mirror.delta.log import DeltaLog
from tests.mirror.delta_logs import open_log, replayed
from tests.mirror.delta_oracle import open_version, require_equal

TEXTS = ["a/b", "x y", "100%", "é", "q=1&r", None, "", "#?", "a:b", "%20", "\u2028", "..", "+"]


def rows(*ids: int, part: str = "p") -> pa.Table:
    amounts = pa.array([Decimal(i) / 100 for i in ids], pa.decimal128(20, 2))
    return pa.table({"part": [part] * len(ids), "id": list(ids), "amount": amounts})


def remake(table: Path) -> None:
    """Do to a table all that deltalake can: 13 versions or more."""
    where = str(table)
    write_deltalake(where, rows(1, 2, 3), partition_by=["part"], configuration={"delta.logRetentionDuration": "1 day"})
    for part in ("p", "q", "q"):
        write_deltalake(where, rows(4, 5, part=part), mode="append")
    opened = DeltaTable(where)
    opened.delete("id = 4")
    opened.update(updates={"amount": "amount + 1"}, predicate="id = 2")
    merge = opened.merge(rows(2, 9, part="q"), predicate="t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    opened.optimize.compact()
    wider = rows(11).append_column("note", pa.array(["new"]))
    write_deltalake(where, wider, mode="append", schema_mode="merge")
    again = rows(12, part="q").append_column("note", pa.array(["new"]))
    write_deltalake(where, again, mode="overwrite", predicate="part = 'q'")
    opened = DeltaTable(where)
    opened.restore(3)
    opened.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    write_deltalake(where, rows(20), mode="overwrite", schema_mode="overwrite")


def require_all_equal(table: Path) -> DeltaLog:
    """Pass only a log of which every version is what deltalake says it is."""
    log = open_log(table)
    for version in range(log.latest_version() + 1):
        opened = open_version(table, version)
        assert opened is not None
        state = log.state(version)
        require_equal(log, state, opened)
        assert replayed(log, None, version) == set(state.files)
    return log


def test_every_operation_of_deltalake_is_read(tmp_path: Path) -> None:
    """Operations and times are those of its history."""
    remake(tmp_path)

    log = require_all_equal(tmp_path)
    commits = list(log.commits(-1, log.latest_version()))
    history = {entry["version"]: entry for entry in DeltaTable(str(tmp_path)).history()}
    assert [(commit.operation, commit.timestamp_ms) for commit in commits] == [
        (history[version]["operation"], history[version]["timestamp"]) for version in range(len(commits))
    ]
    assert {"WRITE", "DELETE", "UPDATE", "MERGE", "OPTIMIZE", "RESTORE", "VACUUM END"} <= {
        commit.operation for commit in commits
    }
    (optimized,) = (commit for commit in commits if commit.operation == "OPTIMIZE")
    assert not any([*(add.data_change for add in optimized.adds), *(gone.data_change for gone in optimized.removes)])


def test_checkpoints_of_deltalake_are_read(tmp_path: Path) -> None:
    """At every second version, and after the commits before the last of them are gone."""
    remake(tmp_path)
    log = open_log(tmp_path)
    states = {version: log.state(version) for version in range(log.latest_version() + 1)}
    for version in range(0, len(states), 2):
        DeltaTable(str(tmp_path), version=version).create_checkpoint()
    for version, before in states.items():
        after = log.state(version)
        assert (after.files.keys(), after.metadata, after.protocol) == (
            before.files.keys(),
            before.metadata,
            before.protocol,
        )
        assert {f.path: f.stats for f in after.files.values()} == {f.path: f.stats for f in before.files.values()}
        assert {f.path: f.partition_values for f in after.files.values()} == {
            f.path: f.partition_values for f in before.files.values()
        }
    last = max(version for version in states if version % 2 == 0)
    for version in range(last):
        (tmp_path / "_delta_log" / f"{version:020d}.json").unlink()

    assert log.state(last).files.keys() == states[last].files.keys()
    assert log.first_commit() == last
    with pytest.raises(HistoryGapError) as gap:
        log.commits(1, len(states) - 1)
    assert (gap.value.missing_from, gap.value.missing_upto) == (2, last - 1)


def test_compacted_logs_of_deltalake_bridge_commits_that_are_gone(tmp_path: Path) -> None:
    remake(tmp_path)
    log = open_log(tmp_path)
    before = log.state(8)
    DeltaTable(str(tmp_path)).compact_logs(2, 6)
    for version in range(3, 6):
        (tmp_path / "_delta_log" / f"{version:020d}.json").unlink()

    assert log.state(8).files.keys() == before.files.keys()


@pytest.mark.parametrize("name", ["plain", "with space", "#?&=+é"])  # deltalake cannot read `%`.
def test_special_characters_in_folders_and_partitions_are_found(tmp_path: Path, name: str) -> None:
    """Each data file is where the log is understood to say, and is read there by PyArrow."""
    table = tmp_path / name
    table.mkdir()
    wild = pa.table({"part": TEXTS, "id": list(range(len(TEXTS)))})
    write_deltalake(str(table), wild, partition_by=["part"])
    log = open_log(table)

    files = log.state(0).files.values()
    assert all(Path(file.path).is_file() for file in files)
    found = {file.partition_values["part"] for file in files}
    assert found == {text or None for text in TEXTS}


def test_a_table_without_deltalake_is_read_from_a_local_path(tmp_path: Path) -> None:
    """Only other stores need the extra; where it is missing, the message names it."""
    remake(tmp_path)
    code = (
        "import sys; sys.modules['deltalake'] = None\n"
        "from seriatim.errors import DeltaLogError\n"
        "from seriatim.mirror.delta.log import DeltaLog\n"
        f"print(len(DeltaLog.open({str(tmp_path)!r}).state(2).files))\n"
        "try:\n    DeltaLog.open('s3://bucket/table').latest_version()\n"
        "except DeltaLogError as err:\n    print(err)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    count, message = done.stdout.splitlines()
    assert int(count) == len(DeltaTable(str(tmp_path), version=2).file_uris())
    assert "seriatim[delta]" in message


def test_the_reader_knows_nothing_of_iceberg() -> None:
    """A log says nothing of Iceberg; only the errors are PyIceberg's kin."""
    folder = Path(sys.modules["seriatim.mirror.delta.log"].__file__ or "").parent
    importing: Callable[[Path], bool] = lambda file: "pyiceberg" in file.read_text().lower()  # noqa: E731

    assert [file.name for file in folder.glob("*.py") if importing(file)] == []
