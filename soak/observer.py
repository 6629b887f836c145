"""Follows a table's history while it is made, since it is kept short: which operations landed, in which order."""

from __future__ import annotations

import json
from typing import Any

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot


class Observer:
    """What has been seen of a table's main branch; `operation_ids` in the order in which they landed."""

    def __init__(self) -> None:
        """Begin before the table's first snapshot."""
        self.operation_ids: list[str] = []
        self.commits = 0
        self.problems: list[str] = []
        self._head: int | None = None  # as last seen; None: nothing was
        self._commit_ids: set[str] = set()

    def look(self, table: Table) -> None:
        """Take in what has landed since the last look; a history that was cut in between is a problem."""
        new: list[Snapshot] = []
        snapshot = table.current_snapshot()
        while snapshot is not None and snapshot.snapshot_id != self._head:
            new.append(snapshot)
            parent = snapshot.parent_snapshot_id
            snapshot = table.metadata.snapshot_by_id(parent) if parent is not None else None
        if snapshot is None and self._head is not None:
            self.problems.append(f"the history between snapshots {self._head} and {new[-1].snapshot_id} was not seen")
        for each in reversed(new):
            self._take(_summary(each), each.snapshot_id)
        if new:
            self._head = new[0].snapshot_id

    def _take(self, summary: dict[str, Any], snapshot_id: int) -> None:
        commit_id = summary.get("seriatim.commit-id", f"of {snapshot_id}")
        if commit_id in self._commit_ids:  # A commit may be several snapshots, which say the same.
            return
        self._commit_ids.add(commit_id)
        self.commits += 1
        self.operation_ids += json.loads(summary.get("seriatim.operation-ids", "[]"))


def _summary(snapshot: Snapshot) -> dict[str, Any]:
    return dict(snapshot.summary.additional_properties) if snapshot.summary is not None else {}
