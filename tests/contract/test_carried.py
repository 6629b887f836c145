"""What a metadata file says of earlier snapshots is read, answered and written again as PyIceberg would."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from copy import copy, deepcopy
from typing import Any, Final

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import ValidationError
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.table.snapshots import MetadataLogEntry, Snapshot, SnapshotLogEntry, Summary

from seriatim.commit import RetentionPolicy, carried, pinned, summary
from seriatim.commit.carried import Carried, CarriedMetadataLogEntry, CarriedSnapshot, CarriedSnapshotLogEntry
from tests.contract.apply_support import Deposit, call
from tests.faults.avro_files import path_of
from tests.faults.bank import Bank

ODD: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "an id in text": ("snapshots", {"snapshot-id": "77"}),
    "a time in text": ("snapshots", {"timestamp-ms": "1700000000000"}),
    "no parent, in words": ("snapshots", {"parent-snapshot-id": None}),
    "no sequence number": ("snapshots", {"sequence-number": ...}),
    "no summary": ("snapshots", {"summary": ...}),
    "a schema in text": ("snapshots", {"schema-id": "0"}),
    "a log's id in text": ("snapshot-log", {"snapshot-id": "77"}),
    "a log's time in text": ("snapshot-log", {"timestamp-ms": "1700000000000"}),
    "the time of a metadata file in text": ("metadata-log", {"timestamp-ms": "1700000000000"}),
}
WRONG_LOGS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "no id": ("snapshot-log", {"snapshot-id": ...}),
    "no time": ("snapshot-log", {"timestamp-ms": ...}),
    "no metadata file": ("metadata-log", {"metadata-file": ...}),
    "a metadata file that is none": ("metadata-log", {"metadata-file": 7}),
}
WRONG: Final[dict[str, dict[str, Any]]] = {
    "no id": {"snapshot-id": ...},
    "no manifest list": {"manifest-list": ...},
    "a manifest list that is none": {"manifest-list": 7},
    "an unknown operation": {"summary": {"operation": "guess"}},
    "a summary that is none": {"summary": []},
}


def file_of(bank: Bank) -> bytes:
    """Return the text of the table's metadata file."""
    return path_of(bank.table().metadata_location).read_bytes()


def with_first(text: bytes, changes: Mapping[str, Any], part: str = "snapshots") -> bytes:
    """Return the text of a metadata file with the first snapshot, or entry of a log, changed; `...`: without that."""
    file = json.loads(text)
    first = {**file[part][0], **changes}
    file[part][0] = {key: value for key, value in first.items() if value is not ...}
    return json.dumps(file).encode()


@pytest.fixture(params=["1", "2"], ids=["v1", "v2"])
def history(request: pytest.FixtureRequest, empty_bank: Bank) -> Bank:
    """A table with some commits of ours, and one of PyIceberg's."""
    empty_bank.create(properties={"format-version": request.param})
    for amount in (10, 20, 30):
        call(empty_bank, Deposit(amount))
    empty_bank.deposit(1)
    return empty_bank


def test_what_is_read_is_what_pyiceberg_reads(history: Bank) -> None:
    """Equal from either side, snapshot by snapshot, and in what it is written as."""
    text = file_of(history)
    ours, theirs = carried.read(text), TableMetadataUtil.parse_raw(text.decode())

    assert ours == theirs
    assert theirs == ours
    for name in ("snapshots", "snapshot_log", "metadata_log"):
        assert list(map(repr, getattr(ours, name))) == list(map(repr, getattr(theirs, name)))
    assert carried.whole(ours).model_dump_json() == theirs.model_dump_json()


def test_what_is_written_is_what_pyiceberg_writes(history: Bank) -> None:
    """To the letter."""
    text = file_of(history)
    theirs = TableMetadataUtil.parse_raw(text.decode())

    for exclude_none in (True, False):
        expected = theirs.model_dump_json(exclude_none=exclude_none)
        assert json.loads(carried.text_of(theirs, exclude_none=exclude_none)) == json.loads(expected)
    assert carried.text_of(carried.read(text), exclude_none=True).decode() == theirs.model_dump_json()


def test_what_a_newer_engine_says_of_a_snapshot_stays(bank: Bank) -> None:
    """PyIceberg would leave it out."""
    bank.deposit(1)
    text = with_first(file_of(bank), {"key-id": "k1", "summary": {"operation": "append", "theirs": "yes"}})

    written = json.loads(carried.text_of(carried.read(text), exclude_none=True))

    assert written["snapshots"] == json.loads(text)["snapshots"]


@pytest.mark.parametrize("part", ["snapshot-log", "metadata-log"])
def test_what_a_newer_engine_says_in_a_log_stays(bank: Bank, part: str) -> None:
    """PyIceberg would leave it out."""
    bank.deposit(1)
    text = with_first(file_of(bank), {"theirs": "yes"}, part)

    written = json.loads(carried.text_of(carried.read(text), exclude_none=True))

    assert written[part] == json.loads(text)[part]
    assert written[part][0]["theirs"] == "yes"


@pytest.mark.parametrize(("part", "changes"), WRONG_LOGS.values(), ids=WRONG_LOGS)
def test_a_wrong_entry_of_a_log_is_refused_as_pyiceberg_refuses_it(
    bank: Bank, part: str, changes: dict[str, Any]
) -> None:
    """At the load."""
    bank.deposit(1)
    text = with_first(file_of(bank), changes, part)

    with pytest.raises(ValidationError):
        TableMetadataUtil.parse_raw(text.decode())
    with pytest.raises(ValueError, match=r"metadata-file|snapshot-id|timestamp-ms"):
        carried.read(text)


@pytest.mark.parametrize("part", ["snapshot-log", "metadata-log"])
def test_a_log_that_is_not_there_is_empty(bank: Bank, part: str) -> None:
    """As PyIceberg has it, which writes one all the same."""
    bank.deposit(1)
    file = json.loads(file_of(bank))
    del file[part]
    text = json.dumps(file).encode()

    ours, theirs = carried.read(text), TableMetadataUtil.parse_raw(text.decode())

    assert ours == theirs
    assert carried.text_of(ours, exclude_none=True).decode() == theirs.model_dump_json()


@pytest.mark.parametrize(("part", "changes"), ODD.values(), ids=ODD)
def test_an_odd_snapshot_or_entry_is_pyicebergs_to_read(bank: Bank, part: str, changes: dict[str, Any]) -> None:
    """Whatever it makes of it is what we read and write."""
    bank.deposit(1)
    text = with_first(file_of(bank), changes, part)

    ours, theirs = carried.read(text), TableMetadataUtil.parse_raw(text.decode())

    assert ours == theirs
    assert carried.text_of(ours, exclude_none=True).decode() == theirs.model_dump_json()


@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG)
def test_a_wrong_snapshot_is_refused_as_pyiceberg_refuses_it(bank: Bank, changes: dict[str, Any]) -> None:
    """At the load: nothing is committed on top of it, however old it is."""
    bank.deposit(1)
    text = with_first(file_of(bank), changes)

    with pytest.raises(ValidationError):
        TableMetadataUtil.parse_raw(text.decode())
    with pytest.raises(ValueError, match=r"manifest-list|snapshot-id|operation|summary"):
        carried.read(text)


def test_a_carried_snapshot_answers_as_pyicebergs(bank: Bank) -> None:
    """Also where it is copied, or asked for its manifests."""
    call(bank, Deposit(10), "a")
    table = bank.table()
    snapshot, theirs = carried.read(file_of(bank)).snapshots[-1], table.metadata.snapshots[-1]

    assert isinstance(snapshot, CarriedSnapshot)
    assert all(getattr(snapshot, name) == getattr(theirs, name) for name in Snapshot.model_fields)
    assert snapshot.manifests(table.io) == theirs.manifests(table.io)
    assert deepcopy(snapshot) == copy(snapshot) == pickle.loads(pickle.dumps(snapshot)) == theirs  # noqa: S301  # Ours.
    assert summary.word(snapshot, summary.OPERATION_IDS) == '["a"]'
    assert summary.word(snapshot, "nothing of the kind") is None
    assert hash(snapshot) == hash(theirs)


def test_a_carried_entry_of_a_log_answers_as_pyicebergs(bank: Bank) -> None:
    """Also where it is copied."""
    bank.deposit(1)
    ours, theirs = carried.read(file_of(bank)), bank.table().metadata
    logs = ((ours.snapshot_log, theirs.snapshot_log), (ours.metadata_log, theirs.metadata_log))

    for log, expected in logs:
        assert log
        for entry, model in zip(log, expected, strict=True):
            assert isinstance(entry, Carried)
            assert all(getattr(entry, name) == getattr(model, name) for name in type(model).model_fields)
            assert hash(entry) == hash(model)
            assert deepcopy(entry) == copy(entry) == pickle.loads(pickle.dumps(entry)) == model  # noqa: S301  # Ours.


def test_the_log_forgets_the_snapshots_that_expire(bank: Bank) -> None:
    """It names those that are there, as PyIceberg's does, and the metadata log as many files as it may."""
    catalog = SqlCatalog("bank", **bank.properties())
    for _ in range(30):
        call(bank, Deposit(1), catalog=catalog)
    metadata = bank.table().metadata

    assert [entry.snapshot_id for entry in metadata.snapshot_log] == [each.snapshot_id for each in metadata.snapshots]
    assert len({entry.metadata_file for entry in metadata.metadata_log}) == len(metadata.metadata_log) > 30


def test_what_pyiceberg_writes_by_itself_is_whole(bank: Bank) -> None:
    """Its models look into what they hold, and find what a carried snapshot stands for."""
    bank.deposit(1)

    assert carried.read(file_of(bank)).model_dump_json() == bank.table().metadata.model_dump_json()


def test_code_of_the_callers_sees_pyicebergs_own(bank: Bank) -> None:
    """What `pinned` hands out is PyIceberg's table."""
    bank.deposit(1)
    seen: list[type] = []

    def change(table: Table) -> None:
        metadata = table.metadata
        seen.extend(type(each) for each in (*metadata.snapshots, *metadata.snapshot_log, *metadata.metadata_log))

    pinned(SqlCatalog("bank", **bank.properties()), bank.identifier, change)

    assert set(seen) == {Snapshot, SnapshotLogEntry, MetadataLogEntry}


def test_a_commit_makes_no_models_of_a_long_history(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many for sixty snapshots as for thirty."""
    made: list[object] = []
    init = Summary.__init__

    def counted(self: Summary, *args: Any, **words: Any) -> None:
        made.append(self)
        init(self, *args, **words)

    monkeypatch.setattr(Summary, "__init__", counted)
    catalog = SqlCatalog("bank", **bank.properties())
    counts = []
    for length in (30, 60):
        while len(bank.snapshot_ids()) < length:
            call(bank, Deposit(1), catalog=catalog, retention=RetentionPolicy(snapshots_min=None))
        made.clear()
        call(bank, Deposit(1), catalog=catalog, retention=RetentionPolicy(snapshots_min=None))
        counts.append(len(made))

    assert counts[0] == counts[1] < 10


def test_a_commit_makes_no_models_of_the_logs(empty_bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither when it reads them, nor later, when snapshots expire and old metadata files are deleted."""
    limits = {"write.metadata.previous-versions-max": "10", "write.metadata.delete-after-commit.enabled": "true"}
    bank = empty_bank.create(properties=limits)
    catalog = SqlCatalog("bank", **bank.properties())
    made: list[object] = []
    for _ in range(25):
        call(bank, Deposit(1), catalog=catalog)
    kinds = {CarriedSnapshotLogEntry, CarriedMetadataLogEntry}
    for kind in kinds:
        monkeypatch.setattr(kind, "whole", made.append)
    call(bank, Deposit(1), catalog=catalog)
    metadata = carried.read(file_of(bank))

    assert made == []
    assert {type(entry) for entry in (*metadata.snapshot_log, *metadata.metadata_log)} == kinds
