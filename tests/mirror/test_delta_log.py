"""What each version of a Delta log says, from its JSON files."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path

import pytest

from seriatim.errors import DeltaLogError, HistoryGapError
from seriatim.mirror.delta.actions import Commit
from seriatim.mirror.delta.log import DeltaLog
from tests.mirror.delta_logs import (
    BIRTH,
    METADATA,
    PROTOCOL,
    SCHEMA,
    add,
    info,
    log_folder,
    open_log,
    paths,
    remove,
    write_commit,
    write_lines,
)


def only(table: Path, *actions: dict[str, object] | object) -> Commit:
    """Return the one version of a table whose first commit has these actions, too."""
    write_commit(table, 0, *BIRTH, *actions)  # type: ignore[arg-type]
    (commit,) = open_log(table).commits(-1, 0)
    return commit


def test_a_commit_says_what_changed(tmp_path: Path) -> None:
    """All that a mirror needs is in the values, and paths stand where the files are."""
    commit = only(
        tmp_path, info(), add("a.parquet", partitionValues={"p": "x", "q": None}, size=7), remove("b.parquet")
    )

    assert (commit.version, commit.operation, commit.timestamp_ms) == (0, "WRITE", 1_000)
    assert commit.metadata is not None
    assert commit.metadata.schema == SCHEMA
    assert commit.metadata.configuration == {"delta.appendOnly": "false"}
    assert commit.protocol is not None
    assert commit.protocol.min_reader_version == 1
    (added,), (removed,) = commit.adds, commit.removes
    assert (added.path, added.size, added.data_change) == (f"{tmp_path}/a.parquet", 7, True)
    assert added.partition_values == {"p": "x", "q": None}
    assert removed.path == f"{tmp_path}/b.parquet"


def test_the_log_is_listed_anew_at_every_call(tmp_path: Path) -> None:
    """The table grows while it is mirrored."""
    write_commit(tmp_path, 0, *BIRTH)
    log = open_log(tmp_path)
    assert log.latest_version() == 0
    write_commit(tmp_path, 1, add("a"))

    assert log.latest_version() == 1
    assert [commit.version for commit in log.commits(0, 1)] == [1]


def test_commits_are_read_only_when_asked_for(tmp_path: Path) -> None:
    """A damaged commit does not keep back those before it, and a long log does not fill the memory."""
    write_commit(tmp_path, 0, *BIRTH)
    (log_folder(tmp_path) / f"{1:020d}.json").write_text("{")
    commits = open_log(tmp_path).commits(-1, 1)

    assert next(commits).version == 0
    with pytest.raises(DeltaLogError) as refused:
        next(commits)
    assert refused.value.version == 1


@pytest.mark.parametrize("content", [None, "torn", '{"version": 99, "size": 1}', '{"version": 0}'])
def test_the_last_checkpoint_file_does_not_matter(tmp_path: Path, content: str | None) -> None:
    """It is a hint that a writer may fail to renew, tear, or leave behind."""
    for version in range(3):
        write_commit(tmp_path, version, *(BIRTH if not version else ()), add(str(version)))
    if content is not None:
        (log_folder(tmp_path) / "_last_checkpoint").write_text(content)

    assert open_log(tmp_path).latest_version() == 2
    assert paths(tmp_path, open_log(tmp_path).state(2)) == ["0", "1", "2"]


def test_nothing_but_whole_names_are_commits(tmp_path: Path) -> None:
    """Temporary files, checksums and staged commits, which only a catalog can call versions, lie in the log as well."""
    write_commit(tmp_path, 0, *BIRTH)
    folder = log_folder(tmp_path)
    for name in (f"{1:020d}.json.tmp", f".{1:020d}.json.crc", f"{1:020d}.crc", "1.json", f"{1:020d}.{'a' * 36}.json"):
        (folder / name).write_text("")
    (folder / "_staged_commits").mkdir()
    write_lines(folder / "_staged_commits" / f"{1:020d}.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json", add("a"))
    (folder / f"{2:020d}.json").mkdir()

    assert open_log(tmp_path).latest_version() == 0


def test_a_gap_is_named_before_anything_is_read(tmp_path: Path) -> None:
    """Whoever mirrors decides what to do about it before a version has landed."""
    for version in (0, 1, 4, 6):
        write_commit(tmp_path, version, *BIRTH)

    with pytest.raises(HistoryGapError) as gap:
        open_log(tmp_path).commits(0, 6)
    assert (gap.value.missing_from, gap.value.missing_upto) == (2, 3)
    assert open_log(tmp_path).first_commit() == 6


def test_a_commit_that_goes_while_others_are_read_is_a_gap(tmp_path: Path) -> None:
    """The log is cleaned up whenever its writer likes."""
    for version in range(3):
        write_commit(tmp_path, version, *BIRTH)
    commits = open_log(tmp_path).commits(-1, 2)
    next(commits)
    (log_folder(tmp_path) / f"{1:020d}.json").unlink()

    with pytest.raises(HistoryGapError) as gap:
        next(commits)
    assert (gap.value.missing_from, gap.value.missing_upto) == (1, 1)


def test_the_first_commit_is_where_the_unbroken_run_to_the_newest_begins(tmp_path: Path) -> None:
    write_commit(tmp_path, 0, *BIRTH)
    assert open_log(tmp_path).first_commit() == 0
    write_commit(tmp_path, 2, *BIRTH)
    write_commit(tmp_path, 3, *BIRTH)
    assert open_log(tmp_path).first_commit() == 2


def test_no_versions_are_no_commits(tmp_path: Path) -> None:
    write_commit(tmp_path, 0, *BIRTH)

    assert list(open_log(tmp_path).commits(0, 0)) == []


@pytest.mark.parametrize("version", [1, -2])
def test_a_version_that_is_not_there_is_refused(tmp_path: Path, version: int) -> None:
    """It is no gap: nothing was cleaned up."""
    write_commit(tmp_path, 0, *BIRTH)
    log = open_log(tmp_path)

    for ask in (log.state, log.head, lambda v: log.commits(-1, v)):
        with pytest.raises(DeltaLogError) as refused:
            ask(version)
        assert refused.value.version == version


def test_a_hole_that_nothing_bridges_leaves_no_state(tmp_path: Path) -> None:
    """The files of a version cannot be guessed."""
    write_commit(tmp_path, 0, *BIRTH, add("a"))
    write_commit(tmp_path, 2, add("c"))

    with pytest.raises(DeltaLogError) as refused:
        open_log(tmp_path).state(2)
    assert refused.value.version == 2
    assert paths(tmp_path, open_log(tmp_path).state(0)) == ["a"]


def test_a_compacted_file_bridges_a_hole_for_a_state_only(tmp_path: Path) -> None:
    """It says what versions came to together, not what each of them did."""
    write_commit(tmp_path, 0, *BIRTH, add("a"))
    write_commit(tmp_path, 1, add("b"))
    write_lines(log_folder(tmp_path) / f"{1:020d}.{3:020d}.compacted.json", add("c"), remove("a"), remove("b"))
    write_commit(tmp_path, 4, add("e"))
    log = open_log(tmp_path)

    assert paths(tmp_path, log.state(4)) == ["c", "e"]
    assert paths(tmp_path, log.state(3)) == ["c"]
    with pytest.raises(DeltaLogError):
        log.state(2)
    with pytest.raises(HistoryGapError):
        log.commits(0, 4)


def test_compactions_that_overlap_lead_on(tmp_path: Path) -> None:
    """One that began earlier repeats what is known already."""
    write_commit(tmp_path, 0, *BIRTH, add("a"))
    write_lines(log_folder(tmp_path) / f"{1:020d}.{3:020d}.compacted.json", add("c"), remove("a"))
    write_lines(log_folder(tmp_path) / f"{2:020d}.{5:020d}.compacted.json", add("d"), remove("c"))

    assert paths(tmp_path, open_log(tmp_path).state(5)) == ["d"]
    assert open_log(tmp_path).latest_version() == 5
    assert open_log(tmp_path).first_commit() is None


def test_a_file_changes_by_its_deletion_vector(tmp_path: Path) -> None:
    """One commit removes the file as it was and adds it with some rows deleted: two logical files of one path."""
    vector = {"storageType": "u", "pathOrInlineDv": "x" * 20, "offset": 1, "sizeInBytes": 36, "cardinality": 2}
    write_commit(tmp_path, 0, *BIRTH, add("a"))
    write_commit(tmp_path, 1, add("a", deletionVector=vector), remove("a"))
    write_commit(tmp_path, 2, add("a", deletionVector={**vector, "offset": 40}), remove("a", deletionVector=vector))
    log = open_log(tmp_path)

    assert set(log.state(1).files) == {(f"{tmp_path}/a", f"u{'x' * 20}@1")}
    assert set(log.state(2).files) == {(f"{tmp_path}/a", f"u{'x' * 20}@40")}
    (commit,) = log.commits(1, 2)
    assert commit.removes[0].key == (f"{tmp_path}/a", f"u{'x' * 20}@1")


def test_a_file_that_is_added_again_has_its_newest_statistics(tmp_path: Path) -> None:
    """COMPUTE STATISTICS does so, and the file counts once."""
    write_commit(tmp_path, 0, *BIRTH, add("a"))
    write_commit(tmp_path, 1, *[add("a", dataChange=False, stats='{"numRecords": 3}')] * 2)
    log = open_log(tmp_path)

    (file,) = log.state(1).files.values()
    assert file.stats == {"numRecords": 3}
    (commit,) = log.commits(0, 1)
    assert len(commit.adds) == 1
    assert not commit.adds[0].data_change


def test_a_remove_needs_no_more_than_a_path(tmp_path: Path) -> None:
    """Sizes and partition values of removed files are optional."""
    commit = only(tmp_path, {"remove": {"path": "a", "dataChange": False, "extendedFileMetadata": False}})

    assert commit.removes[0].key == (f"{tmp_path}/a", None)
    assert not commit.removes[0].data_change


def test_rows_change_unless_it_is_denied(tmp_path: Path) -> None:
    """A version that is wrongly taken for a rearrangement would be hidden from incremental readers."""
    commit = only(tmp_path, {"add": {"path": "a", "size": 1}}, {"remove": {"path": "b"}}, add("c", dataChange=False))

    assert [added.data_change for added in commit.adds] == [True, False]
    assert commit.removes[0].data_change


def test_a_damaged_deletion_vector_is_refused_with_its_version(tmp_path: Path) -> None:
    vector = {"storageType": "u", "pathOrInlineDv": "x" * 20, "offset": 1, "sizeInBytes": 36, "cardinality": 2}
    commit = only(tmp_path, add("a", deletionVector=vector))
    described = commit.adds[0].deletion_vector
    assert described is not None

    with pytest.raises(DeltaLogError) as refused:
        open_log(tmp_path).deleted_positions(described, commit.version)
    assert (refused.value.source, refused.value.version) == (str(tmp_path), 0)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ('{"numRecords": 2}', {"numRecords": 2}),
        ('{"maxValues": {"n": 9007199254740993}}', {"maxValues": {"n": 9007199254740993}}),
        (
            '{"maxValues": {"d": 12345678901234567890.123456789}}',
            {"maxValues": {"d": Decimal("12345678901234567890.123456789")}},
        ),
        ('{"minValues": {"f": NaN}}', {"minValues": {"f": None}}),
        ('{"minValues": {"f": -Infinity}}', {"minValues": {"f": None}}),
        ("", None),
        (None, None),
        ('{"numRecords": 2', None),
        ("[1]", None),
        ("7", None),
        ('{"numRecords": ' + "9" * 5_000 + "}", None),
        ("[" * 100_000, None),
        ({"numRecords": 2}, None),
    ],
)
def test_statistics_are_exact_or_absent(tmp_path: Path, said: object, meant: object) -> None:
    """They help to skip files: wrong ones would lose rows, and missing ones must stop nobody."""
    commit = only(tmp_path, add("a", stats=said))

    assert commit.adds[0].stats == meant


def test_a_number_with_a_point_is_a_decimal_in_statistics(tmp_path: Path) -> None:
    """So that whoever reads them can tell it from a whole number, and how many digits it had."""
    stats = only(tmp_path, add("a", stats='{"minValues": {"a": 1, "b": 1.0, "c": 1e400}}')).adds[0].stats

    assert stats is not None
    assert {name: (type(value), str(value)) for name, value in stats["minValues"].items()} == {
        "a": (int, "1"),
        "b": (Decimal, "1.0"),
        "c": (Decimal, "1E+400"),
    }


def test_an_empty_partition_value_is_null(tmp_path: Path) -> None:
    commit = only(tmp_path, add("a", partitionValues={"p": "", "q": None, "r": " "}))

    assert commit.adds[0].partition_values == {"p": None, "q": None, "r": " "}


@pytest.mark.parametrize(
    ("fields", "time_ms"),
    [
        ({"inCommitTimestamp": 7, "timestamp": 8}, 7),
        ({"timestamp": 8}, 8),
        ({"timestamp": "2020-01-01"}, 1_234_567),
        ({}, 1_234_567),
    ],
)
def test_a_version_has_the_time_that_its_commit_names(tmp_path: Path, fields: dict[str, object], time_ms: int) -> None:
    """Its file's own time, which copies of a table do not keep, is the last resort."""
    file = write_commit(tmp_path, 0, *BIRTH, {"commitInfo": fields})
    os.utime(file, ns=(0, 1_234_567_000_000))
    log = open_log(tmp_path)

    assert next(log.commits(-1, 0)).timestamp_ms == time_ms
    assert log.state(0).timestamp_ms == time_ms


def test_an_empty_commit_file_is_not_taken_for_a_commit_that_changes_nothing(tmp_path: Path) -> None:
    """A machine that goes down leaves such files; whoever mends it later gives the version another meaning."""
    write_commit(tmp_path, 0, *BIRTH)
    write_commit(tmp_path, 1)

    with pytest.raises(DeltaLogError, match=r"version 1 .*empty"):
        list(open_log(tmp_path).commits(0, 1))


def test_a_commit_without_files_changes_nothing(tmp_path: Path) -> None:
    write_commit(tmp_path, 0, *BIRTH)
    write_commit(tmp_path, 1, {"commitInfo": {}})
    (commit,) = open_log(tmp_path).commits(0, 1)

    assert (commit.adds, commit.removes, commit.operation, commit.metadata) == ((), (), None, None)


def test_what_changes_no_file_is_passed_over(tmp_path: Path) -> None:
    """So are kinds of actions that come to be later: reader features say which must be understood."""
    others = [{kind: {"path": "x"}} for kind in ("cdc", "txn", "domainMetadata", "rowIdHighWaterMark", "new")]
    commit = only(tmp_path, *others, {"add": None}, {})

    assert (commit.adds, commit.removes) == ((), ())


def test_lines_may_end_and_hold_what_json_lets_them(tmp_path: Path) -> None:
    """A line separator of Unicode within a text ends no line."""
    file = write_commit(tmp_path, 0, *BIRTH)
    text = file.read_text() + '\r\n\n{"add": {"path": "a\u2028b", "size": 1, "partitionValues": {"\\u0061": "\u00e9"}}}'
    file.write_text(text, encoding="utf-8", newline="")
    (commit,) = open_log(tmp_path).commits(-1, 0)

    assert commit.adds[0].path == f"{tmp_path}/a\u2028b"
    assert commit.adds[0].partition_values == {"a": "\u00e9"}


@pytest.mark.parametrize(
    "line",
    [
        '{"add": {"path": "b", "size": 1, "partit',
        "[]",
        "7",
        '{"add": "b"}',
        '{"add": {"size": 1}}',
        '{"add": {"path": "b"}}',
        '{"add": {"path": "b", "size": 1, "partitionValues": {"p": 1}}}',
        '{"add": {"path": "b", "size": 1, "partitionValues": ["p"]}}',
        '{"add": {"path": "%ff", "size": 1}}',
        '{"add": {"path": "b", "size": 1, "deletionVector": {"storageType": "u"}}}',
        '{"remove": {}}',
        '{"protocol": {"minReaderVersion": 1}}',
        '{"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": 1}}',
        '{"metaData": {"id": "x", "schemaString": "{"}}',
        '{"metaData": {"id": "x", "schemaString": "[]"}}',
        '{"metaData": {"schemaString": "{}"}}',
        '{"metaData": {"id": "x", "schemaString": "{}", "format": {"provider": "orc"}}}',
        "\udcff",
    ],
)
def test_a_commit_that_cannot_be_understood_is_refused(tmp_path: Path, line: str) -> None:
    """Half of what it says would be another table; the version and the file are named."""
    write_commit(tmp_path, 0, *BIRTH)
    file = write_commit(tmp_path, 1, info(), add("a"))
    with file.open("a", encoding="utf-8", errors="surrogateescape") as out:
        out.write(line)
    log = open_log(tmp_path)

    for ask in (lambda: list(log.commits(0, 1)), lambda: log.state(1)):
        with pytest.raises(DeltaLogError) as refused:
            ask()
        assert (refused.value.source, refused.value.version) == (str(tmp_path), 1)
        assert file.name in refused.value.reason


@pytest.mark.parametrize("actions", [(PROTOCOL,), (METADATA,), ()])
def test_a_table_that_begins_without_protocol_or_metadata_is_none(tmp_path: Path, actions: tuple[object, ...]) -> None:
    write_commit(tmp_path, 0, *actions)  # type: ignore[arg-type]
    log = open_log(tmp_path)

    for ask in (lambda: list(log.commits(-1, 0)), lambda: log.state(0), lambda: log.head(0)):
        with pytest.raises(DeltaLogError) as refused:
            ask()
        assert refused.value.version == 0


def test_a_table_may_be_made_without_a_schema(tmp_path: Path) -> None:
    """Delta Live Tables does so; its first version has no columns."""
    write_commit(tmp_path, 0, PROTOCOL, {"metaData": {"id": "x", "partitionColumns": [], "configuration": {}}})

    assert open_log(tmp_path).head(0)[1].schema == {"type": "struct", "fields": []}


def test_the_head_is_the_newest_protocol_and_metadata(tmp_path: Path) -> None:
    """They are what `state` says, without the files."""
    write_commit(tmp_path, 0, *BIRTH, add("a"))
    write_commit(tmp_path, 1, {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}, add("b"))
    write_commit(tmp_path, 2, {"metaData": {**METADATA["metaData"], "name": "new"}}, add('"metaData"'))
    log = open_log(tmp_path)

    for version, reader, name in ((0, 1, None), (1, 2, None), (2, 2, "new")):
        protocol, metadata = log.head(version)
        state = log.state(version)
        assert (protocol.min_reader_version, metadata.name) == (reader, name)
        assert (state.protocol, state.metadata) == (protocol, metadata)


@pytest.mark.parametrize("place", ["absent", "empty", "no_log", "empty_log", "a_file"])
def test_where_there_is_no_table_the_address_is_named(tmp_path: Path, place: str) -> None:
    """The message says what to look at."""
    table = tmp_path / place
    if place == "a_file":
        table.write_text("")
    elif place != "absent":
        table.mkdir()
    if place == "empty_log":
        log_folder(table)

    with pytest.raises(DeltaLogError) as refused:
        open_log(table).latest_version()
    assert (refused.value.source, refused.value.version) == (str(table), None)
    assert "_delta_log" in refused.value.reason


@pytest.mark.parametrize("uri", ["nosuch://bucket/table", "s3://"])
def test_a_store_that_nobody_knows_is_refused(uri: str) -> None:
    with pytest.raises(DeltaLogError) as refused:
        DeltaLog.open(uri).latest_version()
    assert refused.value.source == uri
    assert "\x1b" not in refused.value.reason


def test_a_uri_with_a_fragment_is_refused() -> None:
    """It would be dropped on the way to the store, and the files of another table would be read."""
    with pytest.raises(DeltaLogError):
        DeltaLog.open("s3://bucket/table#1")
