"""A chain of snapshots and its model in plain Python: which rows the table has after each step."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType

from seriatim.commit import Receipt, RetentionPolicy, RetryPolicy
from seriatim.commit.chain import Form, Step
from seriatim.commit.ledger_names import Names
from seriatim.commit.loop import ANY_BASE, Call, Ready, Settings
from seriatim.commit.pin import Pin
from seriatim.commit.position_deletes import position_delete_file
from seriatim.commit.submission import submit_steps
from tests.faults.avro_files import Written
from tests.faults.bank import Bank
from tests.faults.clock import ManualClock

Row = Mapping[int, Any]  # The values of a row by field id.

ID, KIND, NOTE = 1, 2, 3
SCHEMA = Schema(NestedField(ID, "id", LongType()), NestedField(KIND, "kind", StringType()))
WITH_NOTE = Schema(
    NestedField(ID, "id", LongType()), NestedField(KIND, "label", StringType()), NestedField(NOTE, "note", LongType())
)
BY_KIND = PartitionSpec(PartitionField(KIND, 1000, IdentityTransform(), "kind"))
FORMS = (
    Form(schema=WITH_NOTE),
    Form(spec=BY_KIND),
    Form(schema=SCHEMA, spec=UNPARTITIONED_PARTITION_SPEC, properties={"seen": "yes"}),
)


@dataclass(slots=True)
class Lot:
    """One live data file, its rows in their order, and what is deleted of them."""

    file: DataFile
    spec: PartitionSpec
    rows: Sequence[Row]
    gone: frozenset[int] = frozenset()
    deletes: DataFile | None = None  # None: nothing is

    @property
    def live(self) -> list[Row]:
        return [row for position, row in enumerate(self.rows) if position not in self.gone]


@dataclass(slots=True)
class Story:
    """Steps, and what they leave; files are written under `folder` as they are told of."""

    folder: Path
    schema: Schema = SCHEMA
    spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC
    lots: list[Lot] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    history: list[list[dict[str, Any]]] = field(default_factory=list)  # the rows after each step, by id
    _files: int = 0
    _next_id: int = 1

    def tell(
        self,
        *,
        add: Sequence[int] = (),
        remove: Sequence[int] = (),
        delete: Mapping[int, Sequence[int]] | None = None,
        restore: Sequence[int] = (),
        form: Form | None = None,
        **options: Any,
    ) -> Step:
        """Add a step: `add` files of so many rows, and do to lots, which are named by their number, what is said."""
        if form is not None:
            self.schema, self.spec = form.schema or self.schema, form.spec or self.spec
        touched = [self.lots[number] for number in remove]
        removed = tuple(lot.file for lot in touched)
        removed_deletes = [lot.deletes for lot in touched if lot.deletes is not None]
        added_deletes = []
        for number, positions in (delete or {}).items():
            lot = self.lots[number]
            removed_deletes += [lot.deletes] if lot.deletes is not None else []
            lot.gone |= frozenset(positions)
            lot.deletes = self._write_deletes(lot)
            added_deletes.append(lot.deletes)
        for number in restore:
            lot = self.lots[number]
            removed_deletes += [lot.deletes] if lot.deletes is not None else []
            lot.gone, lot.deletes = frozenset(), None
        self.lots = [lot for lot in self.lots if not any(lot is each for each in touched)]
        new = [self._new_lot(count) for count in add]
        self.lots += new
        is_append = not (removed or added_deletes or removed_deletes)
        step = Step(
            operation=Operation.APPEND if is_append else Operation.OVERWRITE,
            added=tuple(lot.file for lot in new),
            removed=removed,
            added_deletes=tuple(added_deletes),
            removed_deletes=tuple(removed_deletes),
            words={"step": str(len(self.steps))},
            form=form,
            **options,
        )
        self.steps.append(step)
        rows = [row for lot in self.lots for row in lot.live]
        named = [{each.name: row.get(each.field_id) for each in self.schema.fields} for row in rows]
        self.history.append(sorted(named, key=lambda row: row["id"]))
        return step

    def tell_any(self, chance: random.Random, *, has_deletes: bool = True) -> Step:
        """Add a step of any kind that is possible now."""
        numbers = list(range(len(self.lots)))
        chance.shuffle(numbers)
        removed, touched = numbers[: chance.randint(0, 2)], numbers[2:4]
        delete = {n: chance.sample(range(len(self.lots[n].rows)), 1) for n in touched if chance.random() < 0.6}
        restore = [number for number in touched if number not in delete and chance.random() < 0.5]
        return self.tell(
            add=[chance.randint(1, 4) for _ in range(chance.choice([0, 1, 1, 2]))],
            remove=removed,
            delete=delete if has_deletes else None,
            restore=restore,
            form=chance.choice(FORMS) if chance.random() < 0.2 else None,
        )

    def _new_lot(self, count: int) -> Lot:
        kind = ("cash", "card", None)[self._files % 3]
        rows = [{ID: id_, KIND: kind, NOTE: -id_} for id_ in range(self._next_id, self._next_id + count)]
        self._next_id += count
        known = [{id_: row[id_] for id_ in self.schema.field_ids} for row in rows]
        return Lot(self.write(known), self.spec, known)

    def write(self, rows: Sequence[Row]) -> DataFile:
        """Write a data file of the form as it is now."""
        schema = self.schema.as_arrow()
        table = pa.Table.from_pylist(
            [{each.name: row[each.field_id] for each in self.schema.fields} for row in rows], schema=schema
        )
        path = self._new_path("data")
        pq.write_table(table, path)
        return data_file(
            f"file://{path}",
            partition=Record(rows[0][KIND]) if self.spec.fields else Record(),
            record_count=len(rows),
            size=path.stat().st_size,
        )

    def _write_deletes(self, lot: Lot) -> DataFile:
        location = f"file://{self._new_path('deletes')}"
        partition = lot.file.partition
        return position_delete_file(
            PyArrowFileIO(), location, spec_of(lot).spec_id, partition, lot.file.file_path, sorted(lot.gone)
        )

    def _new_path(self, name: str) -> Path:
        self._files += 1
        return self.folder / f"{self._files:04}-{name}.parquet"


def spec_of(lot: Lot) -> PartitionSpec:
    """Return the spec as the table numbers it: the unpartitioned one is there from the beginning."""
    return PartitionSpec(*lot.spec.fields, spec_id=1 if lot.spec.fields else 0)


def data_file(path: str, *, partition: Record | None = None, record_count: int = 10, size: int = 1000) -> DataFile:
    """Return a data file that nobody need have written."""
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=partition or Record(),
        record_count=record_count,
        file_size_in_bytes=size,
        column_sizes={},  # PyIceberg's inspection fails where there are none.
        value_counts={ID: record_count},
        null_value_counts={ID: 0},
    )


@dataclass(slots=True)
class Steps:
    """The work of landing these steps, on whatever base there is; `meanwhile` happens before each attempt."""

    steps: Sequence[Step]
    settings: Settings
    meanwhile: list[Callable[[], object]] = field(default_factory=list)

    rebases = 0

    def ready(self, table: Table, pin: Pin, pending: tuple[str, ...], attempt: int) -> Ready | None:
        del table, pending, attempt
        if self.meanwhile:
            self.meanwhile.pop(0)()
        branch, now_ms = self.settings.branch, self.settings.clock.now_ms()
        return Ready(partial(submit_steps, steps=self.steps, branch=branch, now_ms=now_ms), {}, (), rows=None)

    def drop(self) -> None:
        """Nothing is kept between attempts."""


def land(
    bank: Bank,
    steps: Sequence[Step],
    *meanwhile: Callable[[], object],
    catalog: Catalog | None = None,
    branch: str = MAIN_BRANCH,
) -> Receipt:
    """Land the steps in one catalog commit."""
    settings = Settings.of(
        Names.of((), None, None, None),
        branch,
        ANY_BASE,
        RetryPolicy(attempts_max=3),
        None,
        RetentionPolicy(snapshots_min=None),
        None,
        None,
        ManualClock(),
        random.Random(1),
    )
    call = Call(catalog or bank.connect(), bank.identifier, settings)
    return call.run(Steps(steps, settings, list(meanwhile)))


def land_in_batches(bank: Bank, steps: Sequence[Step], sizes: Sequence[int]) -> list[int]:
    """Land the steps in commits of these sizes, over and over, and return the ids of all snapshots."""
    ids: list[int] = []
    catalog, begun, number = bank.connect(), 0, 0
    while begun < len(steps):
        size = sizes[number % len(sizes)]
        ids += land(bank, steps[begun : begun + size], catalog=catalog).snapshot_ids
        begun, number = begun + size, number + 1
    return ids


def rows_at(table: Table, snapshot_id: int) -> list[dict[str, Any]]:
    """Return the rows of a snapshot as PyIceberg has them, by id."""
    rows: list[dict[str, Any]] = table.scan(snapshot_id=snapshot_id).to_arrow().to_pylist()
    return sorted(rows, key=lambda row: row["id"])


@pytest.fixture
def story(tmp_path: Path) -> Story:
    """A story whose files lie in a folder of their own."""
    folder = tmp_path / "files"
    folder.mkdir()
    return Story(folder)


@pytest.fixture
def target(empty_bank: Bank) -> Bank:
    """A table of the story's first form, without a snapshot."""
    return empty_bank.create((), schema=SCHEMA)


def written(bank: Bank) -> Written:
    """Return what the table consists of now, read without PyIceberg."""
    return Written.at(bank.table().metadata_location)
