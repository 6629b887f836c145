"""What must hold of a snapshot that we wrote, by the Iceberg specification; read with no help from PyIceberg."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from pyiceberg.table import Table

from tests.faults.avro_files import Entry, Fields, Manifest, Status, Written, WrittenSnapshot, path_of

EPOCH = date(1970, 1, 1)
ENTRY_IDS = {0, 1, 2, 100, 101, 102, 103, 104, 108, 109, 110, 137, 125, 128, 131, 132, 140}  # Both format versions.


def check_commit(before: Written, after: Written) -> WrittenSnapshot:
    """One commit of ours came between: one snapshot, everything about it right; return it."""
    new = [id_ for id_ in after.snapshots if id_ not in before.snapshots]
    assert new == [after.head_id]
    parent = before.head() if before.head_id is not None else None
    head = after.head()

    _check_metadata(before, after, head)
    check_snapshot(after, head, parent)
    return head


def check_snapshot(
    written: Written,
    snapshot: WrittenSnapshot,
    parent: WrittenSnapshot | None,
    *,
    operation: str | None = None,
    words: Mapping[str, str] | None = None,
) -> None:
    """Everything that a snapshot of ours lists and says is right, after its parent.

    `operation` is told where the data files do not tell it, and `words` are what else it says of itself.
    """
    _check_list(written, snapshot, parent)
    for manifest in snapshot.manifests:
        _check_manifest(written, snapshot, parent, manifest)
    _check_files(snapshot, parent)
    _check_summary(snapshot, operation, words or {})


def check_inspection(table: Table) -> None:
    """PyIceberg's own tables of metadata say what the files say."""
    written = Written.at(table.metadata_location)
    head = written.head()
    live = head.live

    entries = table.inspect.entries().to_pylist()
    assert {entry["data_file"]["file_path"] for entry in entries if entry["status"] != Status.DELETED} == set(live)
    files = table.inspect.files().to_pylist()
    assert Counter(file["file_path"] for file in files) == Counter(list(live))
    assert sum(file["record_count"] for file in files) == sum(entry.file["record_count"] for entry in live.values())
    manifests = {manifest.path: manifest for manifest in head.manifests}
    inspected = {each["path"]: each for each in table.inspect.manifests().to_pylist()}
    assert inspected.keys() == manifests.keys()
    for path, each in inspected.items():
        listed = manifests[path].listed
        kind = "delete" if listed.get("content") else "data"
        assert each[f"added_{kind}_files_count"] == listed["added_files_count"]
    snapshots = {each["snapshot_id"]: each["parent_id"] for each in table.inspect.snapshots().to_pylist()}
    assert snapshots == {id_: each.get("parent-snapshot-id") for id_, each in written.snapshots.items()}
    partitions = table.inspect.partitions().to_pylist()
    data = [entry for entry in live.values() if not entry.file.get("content", 0)]
    deletes = [entry for entry in live.values() if entry.file.get("content", 0) == 1]
    assert sum(each["record_count"] for each in partitions) == _rows(data)
    assert sum(each["file_count"] for each in partitions) == len(data)
    assert sum(each["position_delete_record_count"] for each in partitions) == _rows(deletes)


def _check_metadata(before: Written, after: Written, head: WrittenSnapshot) -> None:
    fields = head.fields
    assert fields.get("parent-snapshot-id") == before.head_id
    assert fields["schema-id"] == before.fields["current-schema-id"]
    assert fields["timestamp-ms"] >= before.fields["last-updated-ms"]
    assert after.fields["last-updated-ms"] >= fields["timestamp-ms"]
    times = [each["timestamp-ms"] for each in after.fields["snapshot-log"]]
    assert times == sorted(times)
    assert after.fields["properties"] == before.fields["properties"]
    is_v1 = after.fields["format-version"] == 1
    assert fields.get("sequence-number", 0) == (0 if is_v1 else before.fields["last-sequence-number"] + 1)
    assert head.header["snapshot-id"] == str(head.id)
    assert head.header["parent-snapshot-id"] == ("null" if before.head_id is None else str(before.head_id))
    assert head.header["format-version"] == str(after.fields["format-version"])
    if not is_v1:
        assert head.header["sequence-number"] == str(fields["sequence-number"])


def _check_list(after: Written, head: WrittenSnapshot, parent: WrittenSnapshot | None) -> None:
    """Each manifest is the parent's, as it was, or new; none is without live files that does not tell of removals."""
    paths = [manifest.path for manifest in head.manifests]
    assert len(paths) == len(set(paths))
    inherited = {manifest.path: manifest for manifest in parent.manifests} if parent else {}
    for manifest in head.manifests:
        if manifest.path in inherited:
            assert dict(manifest.listed) == dict(inherited[manifest.path].listed)
            assert manifest.live
        else:
            assert manifest.listed["added_snapshot_id"] == head.id
            assert manifest.entries
        assert manifest.listed["manifest_length"] == path_of(manifest.path).stat().st_size


def _check_manifest(after: Written, head: WrittenSnapshot, parent: WrittenSnapshot | None, manifest: Manifest) -> None:
    listed = manifest.listed
    for status, name in ((Status.ADDED, "added"), (Status.EXISTING, "existing"), (Status.DELETED, "deleted")):
        entries = [entry for entry in manifest.entries if entry.status is status]
        assert listed[f"{name}_files_count"] == len(entries)
        assert listed[f"{name}_rows_count"] == sum(entry.file["record_count"] for entry in entries)
    spec = _spec(after, listed["partition_spec_id"])
    assert manifest.partition_ids == tuple(field["field-id"] for field in spec)
    assert manifest.header["partition-spec-id"] == str(listed["partition_spec_id"])
    _check_partition_summaries(manifest, spec)
    if listed["added_snapshot_id"] != head.id:
        return
    assert manifest.field_ids >= ENTRY_IDS
    assert manifest.header["format-version"] == str(after.fields["format-version"])
    if after.fields["format-version"] == 2:
        assert manifest.header["content"] == ("deletes" if listed["content"] else "data")
        assert {bool(entry.file["content"]) for entry in manifest.entries} == {bool(listed["content"])}
        assert listed["sequence_number"] == head.fields["sequence-number"]
        assert listed["min_sequence_number"] == min(entry.sequence_number for entry in manifest.entries)
    were = parent.live if parent else {}
    for entry in manifest.entries:
        _check_entry(head, were, entry)


def _check_entry(head: WrittenSnapshot, were: dict[str, Entry], entry: Entry) -> None:
    if entry.status is Status.ADDED:
        assert entry.path not in were
        assert (entry.snapshot_id, entry.sequence_number) == (head.id, head.fields.get("sequence-number", 0))
        assert entry.file_sequence_number == entry.sequence_number
        assert path_of(entry.path).stat().st_size == entry.file["file_size_in_bytes"]
        return
    before = were[entry.path]
    assert _facts(entry.file) == _facts(before.file)
    assert (entry.sequence_number, entry.file_sequence_number) == (before.sequence_number, before.file_sequence_number)
    if "sequence-number" in head.fields and head.header["format-version"] == "2":
        assert None not in (entry.written["sequence_number"], entry.written["file_sequence_number"])
    assert entry.snapshot_id == (before.snapshot_id if entry.is_live else head.id)


def _facts(file: Fields) -> Fields:
    """Return what is said of a file; engines leave a field out or null it, and write formats in small letters."""
    present = {name: value for name, value in file.items() if value is not None}
    return {**present, "file_format": file["file_format"].upper()}


def _check_files(head: WrittenSnapshot, parent: WrittenSnapshot | None) -> None:
    """Each live file is listed once, and what is there is what was there, without and with what this snapshot says."""
    listed = [entry.path for manifest in head.manifests for entry in manifest.live]
    assert len(listed) == len(set(listed))
    own = [entry for manifest in head.manifests for entry in manifest.entries if entry.snapshot_id == head.id]
    added = {entry.path for entry in own if entry.status is Status.ADDED}
    deleted = {entry.path for entry in own if entry.status is Status.DELETED}
    were = set(parent.live) if parent else set()
    assert set(listed) == (were - deleted) | added
    assert deleted <= were


def _check_summary(head: WrittenSnapshot, operation: str | None, words: Mapping[str, str]) -> None:
    own = [entry for manifest in head.manifests for entry in manifest.entries if entry.snapshot_id == head.id]
    changed_files = {
        (is_delete, status): [e for e in own if e.status is status and bool(e.file.get("content", 0)) is is_delete]
        for is_delete in (False, True)
        for status in (Status.ADDED, Status.DELETED)
    }
    added, deleted = changed_files[False, Status.ADDED], changed_files[False, Status.DELETED]
    added_deletes, removed_deletes = changed_files[True, Status.ADDED], changed_files[True, Status.DELETED]
    said = {key: value for key, value in head.summary.items() if not key.startswith(("seriatim.", "partitions."))}
    assert {key: said.pop(key, None) for key in words} == words
    changed = len({_partition(entry) for entry in own if entry.status is not Status.EXISTING} - {()})
    changed_count = said.pop("changed-partition-count", None)
    said.pop("partition-summaries-included", None)
    if changed_count is not None:
        assert changed_count == str(changed)

    operation = operation or (("overwrite" if added else "delete") if deleted else "append")
    counted = {
        "added-data-files": len(added),
        "added-records": _rows(added),
        "added-files-size": _size([*added, *added_deletes]),
        "deleted-data-files": len(deleted),
        "deleted-records": _rows(deleted),
        "removed-files-size": _size([*deleted, *removed_deletes]),
        "added-delete-files": len(added_deletes),
        "added-position-delete-files": len(added_deletes),
        "added-position-deletes": _rows(added_deletes),
        "removed-delete-files": len(removed_deletes),
        "removed-position-delete-files": len(removed_deletes),
        "removed-position-deletes": _rows(removed_deletes),
    }
    live = head.live.values()
    data = [entry for entry in live if not entry.file.get("content", 0)]
    deletes = [entry for entry in live if entry.file.get("content", 0)]
    totals = {
        "total-data-files": len(data),
        "total-records": _rows(data),
        "total-files-size": _size([*data, *deletes]),
        "total-delete-files": len(deletes),
        "total-position-deletes": _rows([entry for entry in deletes if entry.file["content"] == 1]),
        "total-equality-deletes": _rows([entry for entry in deletes if entry.file["content"] == 2]),
    }
    expected = {"operation": operation, **{key: str(value) for key, value in counted.items() if value}}
    assert said == {**expected, **{key: str(value) for key, value in totals.items()}}


def _check_partition_summaries(manifest: Manifest, spec: Sequence[Fields]) -> None:
    summaries = manifest.listed["partitions"] or []
    assert len(summaries) == len(spec)
    for position, summary in enumerate(summaries):
        values = [list(entry.file["partition"].values())[position] for entry in manifest.entries]
        present = [value for value in values if value is not None]
        assert summary["contains_null"] == (len(present) < len(values))
        assert summary["lower_bound"] == (_as_bytes(min(present)) if present else None)
        assert summary["upper_bound"] == (_as_bytes(max(present)) if present else None)


def _as_bytes(value: Any) -> bytes:
    """Return a partition value as the specification writes a single value: all of ours are int, date or string."""
    match value:
        case str():
            return value.encode()
        case date():
            return struct.pack("<i", (value - EPOCH).days)
        case int():
            return struct.pack("<i", value)
        case _:
            raise TypeError(f"no partition of the tests is a {type(value).__name__}: {value!r}")


def _spec(written: Written, spec_id: int) -> list[Fields]:
    specs = written.fields["partition-specs"]
    return next(list(spec["fields"]) for spec in specs if spec["spec-id"] == spec_id)


def _partition(entry: Entry) -> tuple[Any, ...]:
    return tuple(entry.file["partition"].items())


def _rows(entries: Sequence[Entry]) -> int:
    return sum(entry.file["record_count"] for entry in entries)


def _size(entries: Sequence[Entry]) -> int:
    return sum(entry.file["file_size_in_bytes"] for entry in entries)
