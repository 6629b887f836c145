"""Holds back what a caller's code commits, so that all of it lands as one commit, or none of it."""

from __future__ import annotations

from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
    update_table_metadata,
)
from pyiceberg.typedef import Identifier

from seriatim.commit import private
from seriatim.commit.retention import keeping_settings
from seriatim.errors import InvalidChangeError


class Deferral:
    """Stands in for a catalog: takes each commit as landed, on the handle alone, and remembers it for `flush`.

    Whatever else is asked goes to the catalog.
    """

    def __init__(self, catalog: Catalog, handle: Table) -> None:
        """Hold back what `handle` would commit to `catalog`."""
        self._catalog, self._handle, self._base = catalog, handle, handle.metadata
        self.requirements: tuple[TableRequirement, ...] = ()
        self.updates: tuple[TableUpdate, ...] = ()

    def __getattr__(self, name: str) -> Any:
        """Hand every other call to the catalog."""
        return getattr(self._catalog, name)

    def load_table(self, identifier: str | Identifier) -> Table:
        """Answer a refresh of the handle with what it has, its base and what was committed on it: nothing newer."""
        if self._catalog.identifier_to_tuple(identifier) == self._handle.name():
            return self._handle
        return self._catalog.load_table(identifier)

    @property
    def has_snapshots(self) -> bool:
        """Whether what is held back makes a snapshot."""
        return any(isinstance(update, AddSnapshotUpdate) for update in self.updates)

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Hold the commit back, and answer as the catalog would if it had landed."""
        for requirement in requirements:
            requirement.validate(table.metadata)
        updates = keeping_settings(table.metadata, updates)
        self.requirements = self.requirements or tuple(requirements)  # Those of the first speak of the base.
        self.updates += updates
        return CommitTableResponse(
            metadata=update_table_metadata(table.metadata, updates), metadata_location=table.metadata_location
        )

    def flush(self, loaded: Table, branch: str) -> None:
        """Commit everything at once, to the table as it was loaded.

        Raises:
            InvalidChangeError: something was committed to another branch, or the branch was set to a snapshot that the
                call did not make (a rollback): what had been applied would not be known.
        """
        others = {
            update.ref_name
            for update in self.updates
            if isinstance(update, SetSnapshotRefUpdate) and update.type == "branch" and update.ref_name != branch
        }
        if others:
            name = ".".join(self._handle.name())
            raise InvalidChangeError(f"{name}: the call is for branch {branch!r}, but it committed to {sorted(others)}")
        made = {update.snapshot.snapshot_id for update in self.updates if isinstance(update, AddSnapshotUpdate)}
        moves = [update for update in self.updates if isinstance(update, SetSnapshotRefUpdate)]
        strange = [move.snapshot_id for move in moves if move.ref_name == branch and move.snapshot_id not in made]
        if strange:
            name = ".".join(self._handle.name())
            raise InvalidChangeError(
                f"{name}: the call set branch {branch!r} to snapshot {strange[-1]}, which it did not make. Nothing was "
                f"written. Roll back by PyIceberg's manage_snapshots, on a table of your own."
            )
        if self.updates:
            landed = self._catalog.commit_table(loaded, self.requirements, self.updates)
            private.delete_old_metadata(self._catalog, loaded.io, self._base, landed.metadata)
