"""What every snapshot of a table must hold: worked out by the serial model, along the lineage, as snapshots appear."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from tests.oracle.serial import Balances, replay


class Snapshots:
    """The balances of each snapshot that was ever seen, and the operations that made them.

    A snapshot is its parent and what it did to it: the operations that it names, or what somebody else says that he
    did. Plain dictionaries; a rollback changes none of them, and neither does an expiry.
    """

    def __init__(self) -> None:
        self.balances: dict[int | None, Balances] = {None: {}}
        self.applied: dict[int | None, frozenset[str]] = {None: frozenset()}

    def begin(self, snapshot_id: int | None, balances: Balances) -> None:
        """Take a table as it is found."""
        self.balances[snapshot_id], self.applied[snapshot_id] = balances, frozenset()

    def see(self, metadata: TableMetadata, foreign: Mapping[int, str] | None = None) -> None:
        """Work out what has appeared; `foreign` names what those snapshots did that do not say it themselves."""
        for snapshot in metadata.snapshots:
            if snapshot.snapshot_id in self.balances:
                continue
            base = _base(snapshot)
            named = _named(snapshot)
            again = self.applied[base] & set(named)
            assert not again, f"applied again by snapshot {snapshot.snapshot_id}: {sorted(again)}"
            done = named or [each for each in [(foreign or {}).get(snapshot.snapshot_id)] if each is not None]
            self.balances[snapshot.snapshot_id] = replay(self.balances[base], done)
            self.applied[snapshot.snapshot_id] = self.applied[base] | set(named)


def _base(snapshot: Snapshot) -> int | None:
    """Return what the snapshot was made from: its parent, or what it says itself where the parent was expired."""
    if snapshot.parent_snapshot_id is not None:
        return snapshot.parent_snapshot_id
    base = _words(snapshot).get("seriatim.base-snapshot-id", "none")
    return None if base == "none" else int(base)


def _named(snapshot: Snapshot) -> list[str]:
    named: list[str] = json.loads(_words(snapshot).get("seriatim.operation-ids", "[]"))
    return named


def _words(snapshot: Snapshot) -> dict[str, str]:
    return snapshot.summary.additional_properties if snapshot.summary is not None else {}
