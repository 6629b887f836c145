"""A mirror under test: its catalog, what others do to it, and the judge of its history."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitStateUnknownException
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import TableRequirement, TableUpdate

from seriatim.commit import RetryPolicy
from seriatim.mirror import MirrorReceipt, mirror
from tests.faults.bank import Bank
from tests.faults.catalog import Fault, FaultyCatalog, Landing
from tests.faults.clock import ManualClock


class Source(Protocol):
    """A Delta table, and what it is known to hold."""

    @property
    def uri(self) -> str: ...

    @property
    def version(self) -> int: ...

    def ids(self, version: int) -> list[int]: ...


class Target(Bank):
    """The table `bank.mirror` in a catalog under `path`, which is not there yet; its rivals come with the bank."""

    identifier = "bank.mirror"

    def __init__(self, path: Path) -> None:
        """Make the catalog and the namespace."""
        path.mkdir(exist_ok=True)
        super().__init__(path)
        with self.rival() as catalog:
            catalog.create_namespace_if_not_exists("bank")

    def mirror(self, source: Source, catalog: Catalog | None = None, **options: Any) -> MirrorReceipt:
        """Run the mirror, by default with a catalog object of its own; no wait takes any time."""
        options = {"clock": ManualClock(), "chance": random.Random(1), **options}
        if catalog is not None:
            return mirror(source.uri, catalog, self.identifier, **options)
        with self.rival() as own:
            return mirror(source.uri, own, self.identifier, **options)

    def make_empty(self, source: Source) -> None:
        """Leave what a run leaves that fails at its first commit: a table without any version."""
        fault = Fault(CommitStateUnknownException("reported by the double"), Landing.NEVER)
        with pytest.raises(CommitStateUnknownException):
            self.mirror(source, self.connect().fail(fault), policy=RetryPolicy(attempts_max=1))

    def interposing(self, *before: Callable[[], object]) -> InterposingCatalog:
        """Return a catalog before whose commits, one by one, something is done."""
        catalog = InterposingCatalog("bank", **self.properties())
        catalog.before.extend(before)
        self._connections.append(catalog)
        return catalog

    @contextmanager
    def changing(self) -> Iterator[Table]:
        """Yield the table for somebody who changes it with plain PyIceberg."""
        with self.rival() as catalog:
            yield catalog.load_table(self.identifier)

    def set_back(self, version: int) -> None:
        """Roll the table back to the snapshot of a Delta version."""
        self.roll_back(self.snapshot(version).snapshot_id)

    def snapshot(self, version: int) -> Snapshot:
        """Return the snapshot of the history that says it is that version."""
        (found,) = [each for each in history(self.table()) if said(each) == version]
        return found

    def drop(self) -> None:
        """Take the table out of the catalog."""
        with self.rival() as catalog:
            catalog.drop_table(self.identifier)

    def append_rows(self) -> None:
        """Commit as somebody does who takes the mirror for a table like any other."""
        with self.changing() as table:
            table.append(pa.table({"id": pa.array([-1], pa.int64())}))

    def expire_all_but(self, kept: int) -> None:
        """Expire what a user expires: the oldest snapshots."""
        with self.changing() as table:
            ids = [each.snapshot_id for each in history(table)[:-kept]]
            table.maintenance.expire_snapshots().by_ids(ids).commit()


class InterposingCatalog(FaultyCatalog):
    """Does something before each commit, when everything that it was computed from has been read."""

    def __init__(self, name: str, **properties: str) -> None:
        self.before: deque[Callable[[], object]] = deque()
        self.before_drop: Callable[[], object] = lambda: None
        super().__init__(name, **properties)

    def drop_table(self, identifier: Any) -> None:
        self.before_drop()
        super().drop_table(identifier)

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        if self.before:
            self.before.popleft()()
        return super().commit_table(table, requirements, updates)


def history(table: Table) -> list[Snapshot]:
    """Return the snapshots along the parents, the oldest first; a parent that is gone ends it."""
    by_id = {each.snapshot_id: each for each in table.metadata.snapshots}
    snapshots: list[Snapshot] = []
    at = table.metadata.current_snapshot_id
    while at in by_id:
        snapshots.append(by_id[at])
        at = snapshots[-1].parent_snapshot_id
    return snapshots[::-1]


def said(snapshot: Snapshot) -> int | None:
    """Return the Delta version that a snapshot says it is."""
    assert snapshot.summary is not None
    word = snapshot.summary.additional_properties.get("delta-version")
    return None if word is None else int(word)


def versions(table: Table) -> list[int | None]:
    """Return the Delta versions of the history, in its order."""
    return [said(each) for each in history(table)]


def ids_at(table: Table, snapshot: Snapshot) -> list[int]:
    """Return the ids of the rows as PyIceberg reads them."""
    rows = table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
    return sorted(rows["id"].to_pylist())


def assert_mirrors(target: Target, source: Source, upto: int | None = None, at: Iterable[int] | None = None) -> None:
    """The history is exactly 0 to `upto` (None: the newest), and each version (or those in `at`) has Delta's rows."""
    table = target.table()
    goal = source.version if upto is None else upto
    snapshots = history(table)
    assert [said(each) for each in snapshots] == list(range(goal + 1))
    assert snapshots[0].parent_snapshot_id is None
    for version in range(goal + 1) if at is None else at:
        assert ids_at(table, snapshots[version]) == source.ids(version), f"at version {version}"
