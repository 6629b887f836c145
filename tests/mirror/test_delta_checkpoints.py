"""A table's state from checkpoints of every kind."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from seriatim.errors import DeltaLogError
from tests.mirror.delta_logs import (
    BIRTH,
    METADATA,
    Action,
    add,
    info,
    log_folder,
    open_log,
    paths,
    remove,
    write_commit,
    write_lines,
    write_parquet,
)

UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"
STATE: tuple[Action, ...] = (
    *BIRTH,
    add("p=a%20b/c", partitionValues={"p": "a b", "q": ""}, stats='{"numRecords": 1, "maxValues": {"d": 1.10}}'),
    add("d", partitionValues={"p": None}),
    remove("gone", deletionTimestamp=1),
)


def classic(table: Path, version: int, actions: tuple[Action, ...]) -> None:
    write_parquet(log_folder(table) / f"{version:020d}.checkpoint.parquet", *actions)


def in_parts(table: Path, version: int, actions: tuple[Action, ...]) -> None:
    for part in (1, 2, 3):
        name = f"{version:020d}.checkpoint.{part:010d}.{3:010d}.parquet"
        write_parquet(log_folder(table) / name, *actions[part - 1 :: 3])


def v2_json(table: Path, version: int, actions: tuple[Action, ...]) -> None:
    own, sidecar = with_sidecar(table, actions, sidecar_path="s%201.parquet")
    name = f"{version:020d}.checkpoint.{UUID}.json"
    write_lines(log_folder(table) / name, {"checkpointMetadata": {"version": version}}, sidecar, *own)


def v2_parquet(table: Path, version: int, actions: tuple[Action, ...]) -> None:
    where = f"{(log_folder(table) / '_sidecars').as_uri()}/s%201.parquet"
    own, sidecar = with_sidecar(table, actions, sidecar_path=where)
    name = f"{version:020d}.checkpoint.{UUID}.parquet"
    write_parquet(log_folder(table) / name, {"checkpointMetadata": {"version": version}}, sidecar, *own)


def v2_classic_name(table: Path, version: int, actions: tuple[Action, ...]) -> None:
    own, sidecar = with_sidecar(table, actions, sidecar_path="s%201.parquet")
    classic(table, version, ({"checkpointMetadata": {"version": version}}, sidecar, *own))


def with_sidecar(table: Path, actions: tuple[Action, ...], *, sidecar_path: str) -> tuple[list[Action], Action]:
    """Put the file actions into a sidecar; return the others, and what names the sidecar."""
    files = [action for action in actions if "add" in action or "remove" in action]
    write_parquet(log_folder(table) / "_sidecars" / "s 1.parquet", *files)
    named = {"sidecar": {"path": sidecar_path, "sizeInBytes": 1, "modificationTime": 1}}
    return [action for action in actions if action not in files], named


Write = Callable[[Path, int, tuple[Action, ...]], None]
KINDS: list[Write] = [classic, in_parts, v2_json, v2_parquet, v2_classic_name]


@pytest.mark.parametrize("write", KINDS)
def test_every_kind_of_checkpoint_says_what_the_table_is(tmp_path: Path, write: Write) -> None:
    """The commits that it stands for are gone, and those after it go on from it."""
    write(tmp_path, 10, STATE)
    write_commit(tmp_path, 11, add("e"), remove("d"))
    log = open_log(tmp_path)

    state = log.state(10)
    assert paths(tmp_path, state) == ["d", "p=a b/c"]
    first = state.files[f"{tmp_path}/p=a b/c", None]
    assert first.partition_values == {"p": "a b", "q": None}
    assert first.stats == {"numRecords": 1, "maxValues": {"d": Decimal("1.10")}}
    assert (first.size, first.modification_time_ms) == (10, 5)
    assert state.metadata.configuration == METADATA["metaData"]["configuration"]
    assert log.head(10) == log.head(11) == (state.protocol, state.metadata)
    assert paths(tmp_path, log.state(11)) == ["e", "p=a b/c"]
    assert log.latest_version() == 11
    assert log.first_commit() == 11


@pytest.mark.parametrize("write", KINDS)
def test_a_checkpoint_is_not_used_for_what_came_before_it(tmp_path: Path, write: Write) -> None:
    write_commit(tmp_path, 0, *BIRTH, add("a"))
    write_commit(tmp_path, 1, add("b"))
    write(tmp_path, 1, (*BIRTH, add("a"), add("b")))

    assert paths(tmp_path, open_log(tmp_path).state(0)) == ["a"]


def test_the_newest_checkpoint_is_the_one_that_is_used(tmp_path: Path) -> None:
    """What lies before it may be gone by the time it is read."""
    classic(tmp_path, 2, (*BIRTH, add("old")))
    write_commit(tmp_path, 3, add("between"))
    classic(tmp_path, 3, (*BIRTH, add("new")))

    assert paths(tmp_path, open_log(tmp_path).state(3)) == ["new"]


def test_a_checkpoint_that_lacks_a_part_is_none(tmp_path: Path) -> None:
    """Its writer died, or is still at it."""
    for version in range(3):
        write_commit(tmp_path, version, *(BIRTH if not version else ()), add(str(version)))
    in_parts(tmp_path, 2, (*BIRTH, add("wrong")))
    (log_folder(tmp_path) / f"{2:020d}.checkpoint.{2:010d}.{3:010d}.parquet").unlink()

    assert paths(tmp_path, open_log(tmp_path).state(2)) == ["0", "1", "2"]


@pytest.mark.parametrize("write", KINDS)
def test_a_damaged_checkpoint_is_passed_over_where_the_log_reaches_back(tmp_path: Path, write: Write) -> None:
    """Its writer died while it wrote; the commits say the same."""
    write_commit(tmp_path, 0, *BIRTH, add("a"))
    write_commit(tmp_path, 1, add("b"))
    write(tmp_path, 1, (*BIRTH, add("a"), add("b")))
    for file in log_folder(tmp_path).glob("*.checkpoint*"):
        file.write_bytes(file.read_bytes()[:-20])

    assert paths(tmp_path, open_log(tmp_path).state(1)) == ["a", "b"]


@pytest.mark.parametrize("write", KINDS)
def test_a_damaged_checkpoint_that_nothing_replaces_is_refused(tmp_path: Path, write: Write) -> None:
    write(tmp_path, 1, STATE)
    for file in log_folder(tmp_path).glob("*.checkpoint*"):
        file.write_bytes(file.read_bytes()[:-20])

    with pytest.raises(DeltaLogError) as refused:
        open_log(tmp_path).state(1)
    assert refused.value.version == 1
    assert "checkpoint" in refused.value.reason


@pytest.mark.parametrize("write", [v2_json, v2_parquet, v2_classic_name])
def test_a_checkpoint_without_its_sidecar_is_damaged(tmp_path: Path, write: Write) -> None:
    """Without it, files would be missing."""
    write(tmp_path, 1, STATE)
    (log_folder(tmp_path) / "_sidecars" / "s 1.parquet").unlink()

    with pytest.raises(DeltaLogError):
        open_log(tmp_path).state(1)


@pytest.mark.parametrize("lost", [0, 1])
def test_a_checkpoint_without_protocol_or_metadata_is_damaged(tmp_path: Path, lost: int) -> None:
    classic(tmp_path, 1, (BIRTH[lost], add("a")))

    with pytest.raises(DeltaLogError):
        open_log(tmp_path).head(1)


def test_statistics_that_are_columns_read_as_those_in_json(tmp_path: Path) -> None:
    """`delta.checkpoint.writeStatsAsJson=false` leaves no others; numbers and times come in the forms of JSON."""
    types = {
        "i": pa.int64(),
        "f": pa.float64(),
        "x": pa.decimal128(38, 2),
        "t": pa.timestamp("us", "UTC"),
        "n": pa.timestamp("us"),
        "d": pa.date32(),
        "s": pa.string(),
        "r": pa.struct([("i", pa.int32())]),
    }
    bounds = pa.struct(list(types.items()))
    counts = pa.struct([("i", pa.int64()), ("f", pa.int64())])
    parsed = pa.struct(
        [("numRecords", pa.int64()), ("minValues", bounds), ("maxValues", bounds), ("nullCount", counts)]
    )
    values = {
        "i": 2**60,
        "f": 0.1,
        "x": Decimal("123456789012345678901234567890.12"),
        "t": dt.datetime(2020, 1, 2, 3, 4, 5, 678901, dt.UTC),
        "n": dt.datetime(1960, 1, 2),  # noqa: DTZ001
        "d": dt.date(2020, 1, 2),
        "s": "z",
        "r": {"i": 1},
    }
    as_columns = {"numRecords": 3, "minValues": values, "maxValues": {"f": float("nan")}, "nullCount": {"i": 0}}
    actions = (*BIRTH, add("a", stats_parsed=as_columns), add("b"), add("c", stats_parsed={"numRecords": None}))
    name = f"{1:020d}.checkpoint.parquet"
    write_parquet(log_folder(tmp_path) / name, *actions, stats_parsed=parsed, without=["stats"])

    files = open_log(tmp_path).state(1).files
    assert files[f"{tmp_path}/a", None].stats == {
        "numRecords": 3,
        "minValues": {
            "i": 2**60,
            "f": Decimal("0.1"),
            "x": Decimal("123456789012345678901234567890.12"),
            "t": "2020-01-02T03:04:05.678901Z",
            "n": "1960-01-02T00:00:00.000000",
            "d": "2020-01-02",
            "s": "z",
            "r": {"i": 1},
        },
        "maxValues": {},
        "nullCount": {"i": 0},
    }
    assert files[f"{tmp_path}/b", None].stats is None
    assert files[f"{tmp_path}/c", None].stats is None


def test_statistics_in_json_come_before_those_in_columns(tmp_path: Path) -> None:
    """The JSON is what the commit said; the columns are its copy."""
    parsed = pa.struct([("numRecords", pa.int64())])
    actions = (
        *BIRTH,
        add("a", stats='{"numRecords": 1}', stats_parsed={"numRecords": 2}),
        add("b", stats_parsed={"numRecords": 3}),
    )
    write_parquet(log_folder(tmp_path) / f"{1:020d}.checkpoint.parquet", *actions, stats_parsed=parsed)

    files = open_log(tmp_path).state(1).files
    assert [file.stats for file in files.values()] == [{"numRecords": 1}, {"numRecords": 3}]


def test_a_time_beyond_the_years_of_python_costs_one_file_its_statistics(tmp_path: Path) -> None:
    """Year 294247 is a legal timestamp; only skipping is lost."""
    parsed = pa.struct([("numRecords", pa.int64()), ("maxValues", pa.struct([("t", pa.timestamp("us"))]))])
    late = {"numRecords": 1, "maxValues": {"t": 2**62}}
    soon = {"numRecords": 1, "maxValues": {"t": 0}}
    actions = (*BIRTH, add("a", stats_parsed=late), add("b", stats_parsed=soon))
    write_parquet(log_folder(tmp_path) / f"{1:020d}.checkpoint.parquet", *actions, stats_parsed=parsed)

    files = open_log(tmp_path).state(1).files
    assert files[f"{tmp_path}/a", None].stats is None
    assert files[f"{tmp_path}/b", None].stats is not None


def test_a_deletion_vector_stands_in_a_checkpoint(tmp_path: Path) -> None:
    """And its key is that of the commit's, so that a later remove finds the file."""
    vector = {"storageType": "u", "pathOrInlineDv": "x" * 20, "offset": 1, "sizeInBytes": 36, "cardinality": 2}
    nothing = dict.fromkeys(vector)
    classic(tmp_path, 1, (*BIRTH, add("a", deletionVector=vector), add("b", deletionVector=nothing)))
    write_commit(tmp_path, 2, remove("a", deletionVector=vector), remove("b"))
    log = open_log(tmp_path)

    assert set(log.state(1).files) == {(f"{tmp_path}/a", f"u{'x' * 20}@1"), (f"{tmp_path}/b", None)}
    assert log.state(2).files == {}


def test_many_batches_of_rows_are_one_state(tmp_path: Path) -> None:
    """A checkpoint is read some thousand rows at a time."""
    adds = [add(str(number), stats='{"numRecords": 1}') for number in range(25_000)]
    classic(tmp_path, 1, (*adds, *BIRTH))

    assert len(open_log(tmp_path).state(1).files) == 25_000


def test_a_state_that_is_a_checkpoint_has_its_commits_time(tmp_path: Path) -> None:
    """The checkpoint does not tell it; where the commit is gone, the file's own time has to do."""
    classic(tmp_path, 1, STATE)
    log = open_log(tmp_path)
    own_ms = (log_folder(tmp_path) / f"{1:020d}.checkpoint.parquet").stat().st_mtime_ns // 1_000_000
    assert log.state(1).timestamp_ms == own_ms

    write_commit(tmp_path, 1, info(timestamp=77))
    assert log.state(1).timestamp_ms == 77
