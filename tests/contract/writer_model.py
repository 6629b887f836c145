"""A table and its model in plain Python: each deed is done to both, and they must stay equal."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
from pyiceberg.expressions import In
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, TruncateTransform
from pyiceberg.types import DateType, DoubleType, LongType, NestedField, StringType

from seriatim.commit import Append, Base, Change, Delete, Edit, NoChange, Receipt, Rewrite, Upsert
from tests.contract.apply_support import call
from tests.faults.bank import Bank

Row = dict[str, Any]

SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "name", StringType()),
    NestedField(3, "amount", DoubleType()),
    NestedField(4, "day", DateType()),
    NestedField(5, "kind", StringType()),
)
SPECS: Mapping[str, PartitionSpec] = {
    "none": UNPARTITIONED_PARTITION_SPEC,
    "identity": PartitionSpec(PartitionField(5, 1000, IdentityTransform(), "kind")),
    "bucket": PartitionSpec(PartitionField(1, 1000, BucketTransform(4), "id_bucket")),
    "day": PartitionSpec(PartitionField(4, 1000, DayTransform(), "day_day")),
    "truncate": PartitionSpec(PartitionField(2, 1000, TruncateTransform(1), "name_trunc")),
    "two": PartitionSpec(
        PartitionField(5, 1000, IdentityTransform(), "kind"), PartitionField(1, 1001, BucketTransform(2), "id_bucket")
    ),
}
FIRST_DAY = date(1993, 1, 1)


class World:
    """The table, the rows that it should have by id, and seeded chance."""

    def __init__(self, bank: Bank, seed: int) -> None:
        self.bank, self.chance = bank, random.Random(seed)
        self.rows: dict[int, Row] = {}
        self.names = [field.name for field in SCHEMA.fields]
        self._next_id = 1

    def check_rows(self, snapshot_id: int | None = None) -> None:
        """The table has the rows of the model, each once."""
        found = self.bank.table().scan(snapshot_id=snapshot_id).to_arrow().to_pylist()
        assert by_id(found) == by_id(self.rows.values())

    def new_rows(self, count: int) -> list[Row]:
        """Return rows with ids that were never used."""
        ids = range(self._next_id, self._next_id + count)
        self._next_id += count
        return [self._row(id_) for id_ in ids]

    def some_ids(self, count: int) -> list[int]:
        """Return ids that the table has."""
        return sorted(self.chance.sample(sorted(self.rows), min(count, len(self.rows))))

    def changed(self, ids: Sequence[int]) -> list[Row]:
        """Return new rows with these ids."""
        return [self._row(id_) for id_ in ids]

    def arrow(self, rows: Sequence[Row]) -> pa.Table:
        """Return the rows as the table has them now."""
        return pa.Table.from_pylist(list(rows), schema=self.bank.table().schema().as_arrow())

    def _row(self, id_: int) -> Row:
        chance = self.chance
        row = {
            "id": id_,
            "name": chance.choice([None, "", "Ada", "Äpfel", "Bob", "Zoë" * 9]),
            "amount": chance.choice([None, -0.5, 0.0, 1e300, float("inf"), chance.random()]),
            "day": chance.choice([None, *(FIRST_DAY + timedelta(days) for days in range(3))]),
            "kind": chance.choice([None, "cash", "card", "fee/é"]),
            "note": chance.choice([None, 1, 2]),
        }
        return {name: row[name] for name in self.names}


def by_id(rows: Any) -> list[Row]:
    return sorted((dict(row) for row in rows), key=lambda row: row["id"])


# Deeds of ours: each returns whether it made a snapshot.


def append(world: World) -> Receipt:
    rows = world.new_rows(world.chance.randint(1, 6))
    return _apply(world, [Append(world.arrow(rows))], rows, ())


def rewrite(world: World) -> Receipt:
    rows = world.changed(world.some_ids(world.chance.randint(1, 4)))
    return _apply(world, [Rewrite(world.arrow(rows), keys="id")], rows, ())


def upsert(world: World) -> Receipt:
    rows = [*world.changed(world.some_ids(2)), *world.new_rows(2)]
    return _apply(world, [Upsert(world.arrow(rows), keys="id")], rows, ())


def delete(world: World) -> Receipt:
    ids = world.some_ids(world.chance.choice([1, 2, 50]))
    return _apply(world, [Delete(keys=pa.table({"id": pa.array(ids, pa.int64())}))], (), ids)


def several(world: World) -> Receipt:
    gone, kept = world.some_ids(1), world.new_rows(3)
    edits: list[Edit] = [
        Delete(where=In("id", gone)),
        Append(world.arrow(kept)),
        Delete(where=f"id == {kept[0]['id']}"),
    ]
    return _apply(world, edits, kept[1:], gone)


def nothing(world: World) -> Receipt:
    return call(world.bank, lambda base: NoChange(), f"nothing {world.chance.random()}")


def _apply(world: World, edits: Sequence[Edit], added: Sequence[Row], gone: Sequence[int]) -> Receipt:
    def change(base: Base) -> Change:
        return list(edits)

    receipt = call(world.bank, change, f"op {world.chance.random()}")
    _note(world, added, gone)
    return receipt


def _note(world: World, added: Sequence[Row], gone: Sequence[int]) -> None:
    for id_ in gone:
        del world.rows[id_]
    world.rows.update({row["id"]: row for row in added})


OURS: tuple[Callable[[World], Receipt], ...] = (append, append, rewrite, upsert, delete, several, nothing)


# Deeds of somebody else, by plain PyIceberg.


def foreign_append(world: World) -> None:
    rows = world.new_rows(3)
    _foreign(world, lambda table: table.append(world.arrow(rows)))
    _note(world, rows, ())


def foreign_overwrite(world: World) -> None:
    ids = world.some_ids(2)
    rows = world.changed(ids)
    _foreign(world, lambda table: table.overwrite(world.arrow(rows), In("id", ids)))
    _note(world, rows, ())


def foreign_delete(world: World) -> None:
    ids = world.some_ids(2)
    _foreign(world, lambda table: table.delete(In("id", ids)))
    _note(world, (), ids)


def foreign_upsert(world: World) -> None:
    rows = [*world.changed(world.some_ids(1)), *world.new_rows(1)]
    _foreign(world, lambda table: table.upsert(world.arrow(rows), join_cols=["id"]))
    _note(world, rows, ())


def _foreign(world: World, deed: Callable[[Table], object]) -> None:
    with world.bank.rival() as catalog:
        deed(catalog.load_table(world.bank.identifier))


FOREIGN: tuple[Callable[[World], None], ...] = (foreign_append, foreign_overwrite, foreign_delete, foreign_upsert)


# Other forms of the table.


def add_column(world: World) -> None:
    with world.bank.rival() as catalog, catalog.load_table(world.bank.identifier).update_schema() as update:
        update.add_column("note", LongType())
    world.names.append("note")
    for row in world.rows.values():
        row["note"] = None


def repartition(world: World) -> None:
    """Partition by a column that was not partitioned by before."""
    with world.bank.rival() as catalog:
        table = catalog.load_table(world.bank.identifier)
        old = table.spec().fields
        with table.update_spec() as update:
            for field in old:
                update.remove_field(field.name)
        with catalog.load_table(world.bank.identifier).update_spec() as update:
            update.add_field(
                "name" if any(field.source_id == 4 for field in old) else "day", BucketTransform(3), "three"
            )


def drop_column(world: World, name: str) -> None:
    with world.bank.rival() as catalog, catalog.load_table(world.bank.identifier).update_schema() as update:
        update.delete_column(name)
    world.names.remove(name)
    for row in world.rows.values():
        row.pop(name)
