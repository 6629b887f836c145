"""A catalog that loses replies: it lands a commit and says it did not, lands it later, or never."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.io import FileIO
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate
from sqlalchemy.exc import OperationalError

from seriatim.commit import sql_swap

# What is in production the catalog's class to say: whether its own `commit_table` loads the table once more.
COMMITS_BY_SWAP = os.environ.get("SERIATIM_TEST_COMMITS", "swap") == "swap"


class Landing(Enum):
    """When a commit lands whose reply is an exception."""

    NEVER = "never"
    AT_ONCE = "at once"
    AT_NEXT_LOAD = "at the next load"
    BEFORE_NEXT_COMMIT = "before the next commit is looked at"
    AFTER_NEXT_COMMIT = "after the next commit is done with"


def operational_error() -> OperationalError:
    """Return what SQLAlchemy raises when a connection is lost in a commit."""
    return OperationalError("UPDATE iceberg_tables SET ...", {}, Exception("the connection was lost"))


# The ways a catalog reports that it does not know, or claims to know; each call makes a new exception.
REPORTS: dict[str, Callable[[], Exception]] = {
    "CommitFailed": lambda: CommitFailedException("reported by the double"),
    "StateUnknown": lambda: CommitStateUnknownException("reported by the double"),
    "ConnectionError": lambda: ConnectionError("reported by the double"),
    "OperationalError": operational_error,
}


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to one commit: when it lands, and what the caller is told instead of the truth.

    `meanwhile` runs after the commit has landed (or not) and before the caller hears of it: the rival's moment.
    """

    error: BaseException
    landing: Landing
    meanwhile: Callable[[], None] = _nothing


Request = tuple[Table, tuple[TableRequirement, ...], tuple[TableUpdate, ...]]


class FaultyCatalog(SqlCatalog):
    """A SqlCatalog that follows a script of faults, one entry per commit; without one it commits honestly.

    `loaded` holds every table it handed out, in order; `submitted` every commit it was asked for. Loads and
    commits that the catalog makes by itself inside a commit are not counted.
    """

    def __init__(self, name: str, **properties: str) -> None:
        """Connect, with an empty script."""
        self.loaded: list[Table] = []
        self.loaded_ios: list[FileIO] = []  # The io of each table as it was handed out.
        self.submitted: list[Request] = []
        self.landed_late = 0
        self.refused_late = 0
        self._script: deque[Fault | None] = deque()
        self._load_script: deque[Exception | None] = deque()
        self._late: list[tuple[Landing, Request]] = []
        self._inside = threading.local()
        super().__init__(name, **properties)

    def fail(self, *faults: Fault | None) -> FaultyCatalog:
        """Script the next commits, in order (None: an honest one), and return the catalog."""
        self._script.extend(faults)
        return self

    def fail_loads(self, *errors: Exception | None) -> FaultyCatalog:
        """Script the next loads, in order (None: an honest one), and return the catalog."""
        self._load_script.extend(errors)
        return self

    @property
    def script_is_done(self) -> bool:
        """Whether every scripted fault has happened: a test whose fault never came has shown nothing."""
        return not self._script and not self._load_script

    def load_table(self, identifier: Any) -> Table:  # The three versions annotate it differently.
        """Load, after whatever was scripted to land just before."""
        if getattr(self._inside, "commit", False):
            return super().load_table(identifier)
        self.deliver(Landing.AT_NEXT_LOAD)
        error = self._load_script.popleft() if self._load_script else None
        if error is not None:
            raise error
        table = self._load(identifier)
        self.loaded.append(table)
        self.loaded_ios.append(table.io)
        return table

    def _load(self, identifier: Any) -> Table:
        self._inside.commit = True
        try:
            return sql_swap.load_table(self, identifier) if COMMITS_BY_SWAP else super().load_table(identifier)
        finally:
            self._inside.commit = False

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Commit as the script says."""
        request = (table, requirements, updates)
        self.submitted.append(request)
        self.deliver(Landing.BEFORE_NEXT_COMMIT)
        overdue, self._late = self._late, []
        fault = self._script.popleft() if self._script else None
        try:
            if fault is None:
                return self._land(request)
            if fault.landing is Landing.AT_ONCE:
                self._land(request)
            elif fault.landing is not Landing.NEVER:
                self._late.append((fault.landing, request))
            fault.meanwhile()
            raise fault.error
        finally:
            self._late = overdue + self._late
            self._deliver(overdue, Landing.AFTER_NEXT_COMMIT)

    def deliver(self, *when: Landing) -> None:
        """Let the requests that are still on their way arrive now: those scripted for `when`, or all of them."""
        self._deliver(list(self._late), *(when or Landing))

    def _deliver(self, late: list[tuple[Landing, Request]], *when: Landing) -> None:
        for entry in late:
            if entry[0] not in when:
                continue
            self._late.remove(entry)
            try:
                self._land(entry[1])
            except (CommitFailedException, ValueError):  # ValueError: its sequence number has been used since.
                self.refused_late += 1
            else:
                self.landed_late += 1

    def _land(self, request: Request) -> CommitTableResponse:
        self._inside.commit = True
        try:
            if COMMITS_BY_SWAP:
                return sql_swap.commit_table(self, *request, request[0].io)
            return super().commit_table(*request)
        except sql_swap.RefusedError as err:  # Most catalogs have no proof to give, and this one stands for them.
            raise CommitFailedException(str(err)) from err
        finally:
            self._inside.commit = False
