"""Histories made by hand, for the judge: a snapshot is a list of rows and what its commit records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from seriatim.audit.invariants import Invariant
from seriatim.audit.judging import judge
from seriatim.audit.limits import Limits
from seriatim.audit.past import CannotReadError, Difference, LiveFile, MissingFileError, Past, Recorded, Step
from seriatim.audit.verdict import Verdict
from seriatim.commit.conditions import understood
from seriatim.commit.masks import mask_of
from seriatim.commit.reads import Reads

SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "bal", LongType()))
EVERYTHING = Reads((AlwaysTrue(),), is_cut=False)
Balances = Mapping[int, int] | Sequence[tuple[int, int]]


class HandMade:
    """A history in memory; snapshot n has the id 100 + n and the sequence number n."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.lost: set[str] = set()  # files that are not there
        self.unreadable: set[str] = set()
        self._files: dict[int, tuple[LiveFile, ...]] = {}
        self._rows: dict[str, pa.Table] = {}
        self.reads: list[str] = []  # the files that were read, in order

    def snapshot(self, rows: Balances, recorded: Recorded | None = None, **options: Any) -> int:
        """Add a snapshot that holds these rows, in the files of the one before if they are the same."""
        number = len(self.steps) + 1
        table = _table(rows)
        before = self._files.get(99 + number, ())
        if not before or not self._rows[before[0].location].equals(table):
            location = f"file-{number}"
            self._rows[location] = table
            before = (LiveFile(location, table.num_rows),)
        self._files[100 + number] = before
        step = Step(
            snapshot_id=100 + number,
            sequence_number=number,
            committed_at_ms=1_000 * number,
            operation=options.pop("operation", "overwrite"),
            parent_id=99 + number if number > 1 else None,
            files_total=len(before),
            records_total=before[0].records,
            recorded=recorded,
        )
        self.steps.append(replace(step, **options))
        return step.snapshot_id

    def commit(self, rows: Balances, *operation_ids: str, **recorded: Any) -> int:
        """Add a commit of ours that records its true base, unless told otherwise."""
        before = self.steps[-1] if self.steps else None
        options = {
            name: recorded.pop(name) for name in ("operation", "files_total", "records_total") if name in recorded
        }
        words = {
            "commit_id": f"c{len(self.steps) + 1}",
            "base_snapshot_id": before.snapshot_id if before else None,
            "base_sequence_number": before.sequence_number if before else 0,
            **recorded,
        }
        return self.snapshot(rows, Recorded(operation_ids=operation_ids, **words), **options)

    def judged(self, *invariants: Invariant, **options: Any) -> Verdict:
        """Judge it."""
        past = {
            name: options.pop(name) for name in ("is_cut", "is_cut_certain", "is_cut_vouched_for") if name in options
        }
        steps = tuple(self.steps[options.pop("expired", 0) :])
        return judge(Past("bank.account", "main", steps, **past), self, invariants, **options)

    def difference(self, before_id: int | None, after_id: int) -> Difference:
        was = set(self._files[before_id]) if before_id is not None else set()
        now = set(self._files[after_id])
        return Difference(tuple(now - was), tuple(was - now))

    def missing(self, files: Sequence[LiveFile]) -> list[str]:
        return [file.location for file in files if file.location in self.lost]

    def read(self, snapshot_id: int, file: LiveFile) -> pa.Table:
        self.reads.append(file.location)
        if file.location in self.lost:
            raise MissingFileError(file.location)
        if file.location in self.unreadable:
            raise CannotReadError(f"{file.location} is not Parquet")
        return self._rows[file.location]

    def matching(self, rows: pa.Table, condition: BooleanExpression) -> pa.Table:
        return rows.filter(mask_of(SCHEMA, understood("the table", SCHEMA, condition), rows))


def _table(rows: Balances) -> pa.Table:
    pairs = list(rows.items()) if isinstance(rows, Mapping) else list(rows)
    return pa.Table.from_pylist([{"id": id_, "bal": bal} for id_, bal in pairs], schema=SCHEMA.as_arrow())


def kinds(verdict: Verdict) -> list[str]:
    """Return the names of the anomalies, in order."""
    return [anomaly.kind.value for anomaly in verdict.anomalies]


__all__ = ["EVERYTHING", "SCHEMA", "HandMade", "Limits", "kinds"]
