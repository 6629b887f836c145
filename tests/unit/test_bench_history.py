"""The history that stands in for thousands of PyIceberg's overwrites is what those would have left."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import fastavro

from benchmarks.pyiceberg_history import textbook_history
from benchmarks.restarts import Restarts, head_of
from benchmarks.systems.iceberg import local
from benchmarks.systems.textbook import Textbook, TextbookSession

COMMITS = 9


def _shape(location: str) -> dict[str, Any]:
    """Return all that the next overwrite reads and copies, but for names and numbers that are drawn."""
    metadata = json.loads(local(location).read_text(encoding="utf-8"))
    head = metadata["snapshots"][-1]
    with local(head["manifest-list"]).open("rb") as file:
        listed = [each for each in fastavro.reader(file) if isinstance(each, dict)]
    names = ("added_files_count", "existing_files_count", "deleted_files_count")
    ids = [each["snapshot-id"] for each in metadata["snapshots"]]
    return {
        "operations": [each["summary"]["operation"] for each in metadata["snapshots"]],
        "is chained": [each.get("parent-snapshot-id") for each in metadata["snapshots"][1:]] == ids[:-1],
        "numbers": [each["sequence-number"] for each in metadata["snapshots"]],
        "last number": metadata["last-sequence-number"],
        "is head": metadata["current-snapshot-id"] == head["snapshot-id"] == metadata["refs"]["main"]["snapshot-id"],
        "logs": [len(metadata[name]) for name in ("snapshot-log", "metadata-log")],
        "manifests": Counter(tuple(each[name] for name in names) for each in listed),
        "manifest files": len({each["manifest_path"] for each in listed if local(each["manifest_path"]).is_file()}),
    }


def test_a_history_that_is_continued_has_the_form_of_one_that_was_made(tmp_path: Path) -> None:
    made, continued = tmp_path / "made", tmp_path / "continued"
    made.mkdir()
    continued.mkdir()
    Textbook().create(made)
    session = TextbookSession(made)
    for _ in range(COMMITS):
        session.increment()
    session.close()

    history = textbook_history(continued, COMMITS)

    assert _shape(history.location) == _shape(head_of(made))
    again = Restarts(continued, history.location, TextbookSession(continued), history.balance)
    again.restart()
    again.increment()
    again.finish()
