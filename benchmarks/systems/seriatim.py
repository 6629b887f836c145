"""Seriatim: `commit_with_retry`, and `apply`, with and without its turnstile, on one row and on rows of one's own."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform

from benchmarks.systems.iceberg import TABLE, create_table, open_catalog, orphans_of, total
from benchmarks.systems.port import Session, Spent
from seriatim import Base, RetryPolicy, Rewrite, apply, commit_with_retry

BUCKETS: Final = 64
BUCKETS_OF_EACH: Final = 8
_ATTEMPTS_MAX: Final = 10_000  # Nobody is to give up.
_TURNSTILE: Final = "SERIATIM_TURNSTILE"


@dataclass(frozen=True, slots=True)
class CommitWithRetry:
    """One account's balance, by the function for it."""

    name: str = "commit_with_retry"
    requires: tuple[str, ...] = ()

    def create(self, folder: Path) -> None:
        """Make the table."""
        create_table(folder)

    def session(self, folder: Path, worker: int = 0) -> Session:
        """Open the catalog; each increment loads the table anew."""
        del worker
        _set_turnstile(is_on=True)
        return CommitSession(folder)

    def orphans(self, folder: Path, commits: int) -> int | None:
        """Count the data files that no commit has written."""
        return orphans_of(folder, 1 + commits)


class CommitSession:
    """A catalog that is open, and calls of `commit_with_retry` on a table of it."""

    def __init__(self, folder: Path, table: str = TABLE) -> None:
        self._catalog, self.table = open_catalog(folder), table

    def increment(self) -> Spent:
        """Each attempt calls `mutate` once."""
        calls = 0

        def mutate(balance: int) -> int:
            nonlocal calls
            calls += 1
            return balance + 1

        commit_with_retry(self._catalog, self.table, mutate, max_retries=_ATTEMPTS_MAX)
        return Spent(calls, calls)

    def read(self) -> int:
        """Return the sum of the balances."""
        return total(self._catalog.load_table(self.table))

    def close(self) -> None:
        """Close the connections."""
        self._catalog.engine.dispose()


@dataclass(frozen=True, slots=True)
class Apply:
    """`apply` on the one row, or on rows that are each in a partition of their own and that no other worker changes."""

    name: str = "apply"
    has_turnstile: bool = True
    is_disjoint: bool = False
    requires: tuple[str, ...] = ()

    def create(self, folder: Path) -> None:
        """Make the table: of one row, or of one partition for each of the rows."""
        by_id = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id"))
        create_table(folder, rows=BUCKETS, spec=by_id) if self.is_disjoint else create_table(folder)

    def session(self, folder: Path, worker: int = 0) -> Session:
        """Open the catalog; the process keeps to the turnstile, or not, from then on."""
        _set_turnstile(is_on=self.has_turnstile)
        first = worker * BUCKETS_OF_EACH + 1 if self.is_disjoint else 1
        return _ApplySession(folder, range(first, first + (BUCKETS_OF_EACH if self.is_disjoint else 1)))

    def orphans(self, folder: Path, commits: int) -> int | None:
        """Count the data files that no commit has written."""
        return orphans_of(folder, (BUCKETS if self.is_disjoint else 1) + commits)


class _ApplySession:
    def __init__(self, folder: Path, ids: range) -> None:
        self._catalog, self._ids = open_catalog(folder), cycle(ids)
        self._policy = RetryPolicy(attempts_max=_ATTEMPTS_MAX, total_s_max=3600.0)

    def increment(self) -> Spent:
        where, computations = f"id = {next(self._ids)}", 0

        def one_more(base: Base) -> Rewrite:
            nonlocal computations
            computations += 1
            rows = base.read(where=where)
            return Rewrite(_incremented(rows), where=where)

        receipt = apply(self._catalog, TABLE, one_more, policy=self._policy)
        return Spent(receipt.attempts, computations)

    def read(self) -> int:
        return total(self._catalog.load_table(TABLE))

    def close(self) -> None:
        self._catalog.engine.dispose()


def _set_turnstile(*, is_on: bool) -> None:
    """Say how this process is to go, as a user would."""
    if is_on:
        os.environ.pop(_TURNSTILE, None)  # The default.
    else:
        os.environ[_TURNSTILE] = "off"


def _incremented(rows: pa.Table) -> pa.Table:
    column = rows.schema.get_field_index("bal")
    return rows.set_column(column, rows.schema.field(column), pc.add(rows["bal"], 1))
