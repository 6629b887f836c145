"""A process of its own that does a deed and kills itself on the way, as a machine does that is switched off.

It is forked from a server that has imported everything, because an import costs a second.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from dataclasses import dataclass
from enum import Enum
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate
from sqlalchemy import event

from seriatim.commit import Receipt
from tests.faults.bank import Bank
from tests.faults.deeds import DEEDS
from tests.faults.fileio import Kind, Step, WatchedCatalog


class Gate(Enum):
    """Where a process may be killed."""

    COMPUTED = "computed, nothing is written"
    BEFORE_DATA = "before the first data file"
    WITHIN_DATA = "when the first data file is written in part"
    AFTER_DATA = "after the last data file"
    BEFORE_MANIFESTS = "before the first manifest"
    WITHIN_MANIFESTS = "when the first manifest is written in part"
    AFTER_MANIFEST = "after the first manifest"
    BEFORE_LIST = "before the first manifest list"
    WITHIN_LIST = "when the first manifest list is written in part"
    AFTER_LIST = "after the first manifest list"
    BEFORE_COMMIT = "before the commit reaches the catalog"
    BEFORE_SQL = "when the metadata file is there, before the catalog's database commits"
    BEFORE_REPLY = "when the commit has landed, before its reply"
    AFTER_REPLY = "after the reply, before the call returns"
    RETURNED = "after the call returned"
    NOWHERE = "not at all"

    @property
    def has_landed(self) -> bool:
        """Whether the commit is in the table by then."""
        return self in (Gate.BEFORE_REPLY, Gate.AFTER_REPLY, Gate.RETURNED, Gate.NOWHERE)


_FILES: Final = {
    (Step.CREATE, Kind.DATA, False): Gate.BEFORE_DATA,
    (Step.WRITE, Kind.DATA, True): Gate.WITHIN_DATA,
    (Step.CLOSE, Kind.DATA, True): Gate.AFTER_DATA,
    (Step.CREATE, Kind.MANIFEST, False): Gate.BEFORE_MANIFESTS,
    (Step.WRITE, Kind.MANIFEST, True): Gate.WITHIN_MANIFESTS,
    (Step.CLOSE, Kind.MANIFEST, True): Gate.AFTER_MANIFEST,
    (Step.CREATE, Kind.MANIFEST_LIST, False): Gate.BEFORE_LIST,
    (Step.WRITE, Kind.MANIFEST_LIST, True): Gate.WITHIN_LIST,
    (Step.CLOSE, Kind.MANIFEST_LIST, True): Gate.AFTER_LIST,
}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended."""

    exit_code: int | None
    returned: Receipt | int | None  # None: it did not come to return anything

    @property
    def was_killed(self) -> bool:
        return self.exit_code == -signal.SIGKILL


class Killer:
    """Kills its own process at a gate."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def reach(self, gate: Gate | None) -> None:
        """Die if this is the gate; no `finally`, no `atexit`, no buffer survives it."""
        if gate is self.gate:
            os.kill(os.getpid(), signal.SIGKILL)

    def before(self, step: Step, kind: Kind) -> None:
        self.reach(_FILES.get((step, kind, False)))

    def after(self, step: Step, kind: Kind) -> None:
        self.reach(_FILES.get((step, kind, True)))


class MortalCatalog(WatchedCatalog):
    """A catalog with gates in its commit."""

    def __init__(self, killer: Killer, **properties: str) -> None:
        self.killer = killer
        super().__init__("bank", killer, **properties)
        event.listen(self.engine, "commit", lambda connection: self._before_sql())

    def _before_sql(self) -> None:
        if getattr(self._inside, "commit", False):
            self.killer.reach(Gate.BEFORE_SQL)

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        self.killer.reach(Gate.BEFORE_COMMIT)
        response = super().commit_table(table, requirements, updates)
        self.killer.reach(Gate.BEFORE_REPLY)
        return response

    def _delete_old_metadata(self, *args: Any) -> None:  # type: ignore[override]  # It is static there.
        """Be killed where PyIceberg, in every version, goes on after the reply."""
        if self.submitted:
            self.killer.reach(Gate.AFTER_REPLY)
        super()._delete_old_metadata(*args)


def do_in_a_process(
    path: Path, deed: str, operation_ids: tuple[str, ...], gate: Gate, *, attempts_max: int = 3
) -> Ending:
    """Do the deed on the bank under `path` in a new process, which is killed at the gate; return how it ended."""
    fork = multiprocessing.get_context("forkserver")
    fork.set_forkserver_preload([__name__])
    ours, theirs = fork.Pipe(duplex=False)
    process = fork.Process(target=_do, args=(path, deed, operation_ids, gate, attempts_max, theirs))
    process.start()
    theirs.close()
    try:
        returned = ours.recv()
    except EOFError:  # It has died without a word.
        returned = None
    process.join()
    ours.close()
    return Ending(process.exitcode, returned)


def _do(
    path: Path, deed: str, operation_ids: tuple[str, ...], gate: Gate, attempts_max: int, connection: Connection
) -> None:
    killer = Killer(gate)
    catalog = MortalCatalog(killer, **Bank(path).properties())
    returned = DEEDS[deed].run(catalog, operation_ids, attempts_max, lambda: killer.reach(Gate.COMPUTED))
    killer.reach(Gate.RETURNED)
    connection.send(returned)
    catalog.engine.dispose()
