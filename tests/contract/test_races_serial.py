"""Every race of two writers ends as if one had come after the other, whatever the table's layout (promises P1 to P3).

Ours reads; the rival reads and writes; ours writes. Each is a function of the rows, so that the two serial orders can
be worked out here, and the table must show one of them. PyIceberg 0.12 alone ends most of them in neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType, TimestampType

from seriatim.commit import Append, Change, Delete, NoChange, Receipt, Rewrite, Upsert, apply, pinned
from tests.contract.apply_support import call, settings
from tests.faults.bank import Bank
from tests.faults.pairwise import full, pairwise

Balances = Mapping[int, int]
Read = Callable[[str | BooleanExpression], Balances]

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "bal", LongType(), required=False),
    NestedField(3, "region", StringType(), required=False),
    NestedField(4, "opened", TimestampType(), required=False),
)
DAY = datetime(1993, 1, 5)  # noqa: DTZ001  # A timestamp without a zone is what the column holds.


def rows_of(balances: Balances) -> pa.Table:
    """Return rows of the table; what they are partitioned by follows from the id."""
    rows = [
        {"id": id_, "bal": bal, "region": f"r{id_ % 2}", "opened": DAY + timedelta(days=id_ % 3)}
        for id_, bal in balances.items()
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA.as_arrow())


@dataclass(frozen=True)
class Deed:
    """What a writer does: to balances, as a change of ours, and with a table of PyIceberg's."""

    result: Callable[[Balances], Balances]
    change: Callable[[Read], Change]
    fn: Callable[[Read, Table, str], object]
    is_reading: bool = False


def _sum(balances: Balances) -> Balances:
    return {max(balances, default=0) + 1: sum(balances.values())}


def append_if_absent(bal: int) -> Deed:
    return Deed(
        lambda before: before if 9 in before else {**before, 9: bal},
        lambda read: NoChange() if read("id == 9") else Append(rows_of({9: bal})),
        lambda read, table, branch: None if read("id == 9") else table.append(rows_of({9: bal}), branch=branch),
        is_reading=True,
    )


def running_total() -> Deed:
    return Deed(
        lambda before: {**before, **_sum(before)},
        lambda read: Append(rows_of(_sum(read(AlwaysTrue())))),
        lambda read, table, branch: table.append(rows_of(_sum(read(AlwaysTrue()))), branch=branch),
        is_reading=True,
    )


def first_row(bal: int) -> Deed:
    return Deed(
        lambda before: before or {1: bal},
        lambda read: NoChange() if read(AlwaysTrue()) else Append(rows_of({1: bal})),
        lambda read, table, branch: None if read(AlwaysTrue()) else table.append(rows_of({1: bal}), branch=branch),
        is_reading=True,
    )


def append(id_: int, bal: int) -> Deed:
    return Deed(
        lambda before: {**before, id_: bal},
        lambda read: Append(rows_of({id_: bal})),
        lambda read, table, branch: table.append(rows_of({id_: bal}), branch=branch),
    )


def insert_or_replace(bal: int) -> Deed:
    return Deed(
        lambda before: {**before, 9: bal},
        lambda read: Rewrite(rows_of({9: bal}), where="id == 9"),
        lambda read, table, branch: table.overwrite(rows_of({9: bal}), "id == 9", branch=branch),
    )


def overwrite_all(bal: int) -> Deed:
    return Deed(
        lambda before: {bal % 7: bal},
        lambda read: Rewrite(rows_of({bal % 7: bal}), where=AlwaysTrue()),
        lambda read, table, branch: table.overwrite(rows_of({bal % 7: bal}), branch=branch),
    )


def delete(id_: int) -> Deed:
    return Deed(
        lambda before: {one: bal for one, bal in before.items() if one != id_},
        lambda read: Delete(where=f"id == {id_}"),
        lambda read, table, branch: table.delete(f"id == {id_}", branch=branch),
    )


def upsert(balances: Balances) -> Deed:
    return Deed(
        lambda before: {**before, **balances},
        lambda read: Upsert(rows_of(balances), keys="id"),
        lambda read, table, branch: table.upsert(rows_of(balances), ["id"], branch=branch),
    )


def move_to(source: int, target: int) -> Deed:
    """Read one account and write another: with its mirror image, write skew."""
    return Deed(
        lambda before: {**before, target: before[source] + 1},
        lambda read: Rewrite(rows_of({target: read(f"id == {source}")[source] + 1}), keys="id"),
        lambda read, table, branch: table.overwrite(
            rows_of({target: read(f"id == {source}")[source] + 1}), f"id == {target}", branch=branch
        ),
        is_reading=True,
    )


SOME: Balances = {1: 100, 2: 200, 3: 300}

# (the rows at first, ours, the rival's)
RACES: dict[str, tuple[Balances, Deed, Deed]] = {
    "append if absent": (SOME, append_if_absent(5), append_if_absent(6)),
    "running total": (SOME, running_total(), running_total()),
    "first row of an empty table": ({}, first_row(5), first_row(6)),
    "first rows of an empty table, unread": ({}, append(1, 5), append(2, 6)),
    "insert if absent by overwrite": (SOME, insert_or_replace(5), insert_or_replace(6)),
    "insert if absent by overwrite, empty": ({}, insert_or_replace(5), insert_or_replace(6)),
    "whole-table overwrite of an empty table": ({}, overwrite_all(5), overwrite_all(13)),
    "whole-table overwrite": (SOME, overwrite_all(5), overwrite_all(13)),
    "delete of nothing, insert": (SOME, delete(9), append(9, 6)),
    "insert, delete of nothing": (SOME, append(9, 6), delete(9)),
    "upserts of the same new key": (SOME, upsert({9: 5}), upsert({9: 6})),
    "upserts of an old key each and the same new one": (SOME, upsert({1: 5, 9: 5}), upsert({2: 6, 9: 6})),
    "upsert, append if absent": (SOME, upsert({9: 5}), append_if_absent(6)),
    "running total, delete": (SOME, running_total(), delete(2)),
    "running total, upsert": (SOME, running_total(), upsert({2: 6})),
    "reads and writes that cross": (SOME, move_to(1, 2), move_to(2, 1)),
}

SPECS = {
    "not partitioned": UNPARTITIONED_PARTITION_SPEC,
    "by region": PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "part")),
    "by bucket": PartitionSpec(PartitionField(1, 1000, BucketTransform(4), "part")),
    "by day": PartitionSpec(PartitionField(4, 1000, DayTransform(), "part")),
}
AXES = (
    tuple(RACES),
    ("apply", "pinned"),
    tuple(SPECS),
    ("one file", "several files"),
    ("v1", "v2"),
    ("main", "audit"),
    ("named", "unnamed"),
)


@pytest.mark.parametrize("case", pairwise(AXES, seed=1), ids=", ".join)
def test_a_race_ends_in_a_serial_order(empty_bank: Bank, case: tuple[str, ...]) -> None:
    """Any two properties of a race are together in one of these cases."""
    _check(empty_bank, *case)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", full(AXES), ids=", ".join)
def test_every_race_ends_in_a_serial_order(empty_bank: Bank, case: tuple[str, ...]) -> None:
    """All of them with all."""
    _check(empty_bank, *case)


def _check(bank: Bank, race: str, api: str, spec: str, files: str, version: str, branch: str, named: str) -> None:
    before, ours, theirs = RACES[race]
    _create(bank, before, spec, files, version, branch)
    ids = ("ours", "theirs") if named == "named" else (None, None)

    receipt = _do(bank, ours, api, branch, ids[0], lambda: _do(bank, theirs, api, branch, ids[1]))

    rows = _rows(bank, branch)
    orders = [dict(theirs.result(ours.result(before))), dict(ours.result(theirs.result(before)))]
    assert dict(rows) in orders
    assert len(rows) == len(dict(rows))  # Nobody's row is there twice.
    assert receipt.attempts <= 2
    assert bank.inventory().missing == []
    # On version 1, and on a branch that had no snapshot, no attempt can be proven dead, so its files are kept.
    if version == "v2" and (before or branch != "main"):
        assert bank.inventory().unreachable == []
    if branch != "main":
        assert _rows(bank, "main") == list(before.items())
    for id_ in ids:
        assert id_ is None or _do(bank, append(77, 0), "apply", branch, id_).already_applied


def _create(bank: Bank, balances: Balances, spec: str, files: str, version: str, branch: str) -> None:
    bank.create((), schema=SCHEMA, spec=SPECS[spec], properties={"format-version": version[1:]})
    batches = [{id_: bal} for id_, bal in balances.items()] if files == "several files" else [balances]
    for batch in (
        batches if balances else []
    ):  # By commits of ours: only they prove the beginning of a table of version 1.
        _apply(bank, Append(rows_of(batch)))
    if branch != "main":
        with bank.rival() as catalog:
            table = catalog.load_table(bank.identifier)
            if table.current_snapshot() is None:  # A branch needs a snapshot, if only one without rows.
                _apply(bank, NoChange(), "an empty snapshot")
                table.refresh()
            table.manage_snapshots().create_branch(int(str(table.metadata.current_snapshot_id)), branch).commit()


def _apply(bank: Bank, change: Change, *operation_ids: str) -> None:
    call(bank, lambda base: change, *operation_ids)


def _rows(bank: Bank, branch: str) -> list[tuple[int, int]]:
    scan = bank.table().scan()
    rows = (scan if branch == "main" else scan.use_ref(branch)).to_arrow().to_pylist()
    assert rows_of({one["id"]: one["bal"] for one in rows}).sort_by("id").to_pylist() == sorted(
        rows, key=lambda one: one["id"]
    )  # The other columns came along.
    return sorted((one["id"], one["bal"]) for one in rows)


def _do(
    bank: Bank,
    deed: Deed,
    api: str,
    branch: str,
    operation_id: str | None,
    meanwhile: Callable[[], object] = lambda: None,
) -> Receipt:
    """Do the deed; `meanwhile` happens once, after it has read and before it writes."""
    left = [meanwhile]

    def then(read: Callable[[Any], pa.Table]) -> Read:
        """Return the read, with the rival's moment after it, or before the deed if that reads nothing."""

        def balances(where: str | BooleanExpression) -> Balances:
            rows = read(where)
            if left:
                left.pop()()
            return dict(zip(rows["id"].to_pylist(), rows["bal"].to_pylist(), strict=True))

        if left and not deed.is_reading:
            left.pop()()
        return balances

    def fn(table: Table) -> None:
        scan = table.scan() if branch == "main" else table.scan().use_ref(branch)
        deed.fn(then(lambda where: scan.filter(where).to_arrow()), table, branch)

    ids = () if operation_id is None else (operation_id,)
    options = settings({"branch": branch})
    if api == "apply":
        work = lambda base: deed.change(then(base.read))  # noqa: E731
        return apply(bank.connect(), bank.identifier, work, operation_ids=ids, **options)
    return pinned(bank.connect(), bank.identifier, fn, operation_ids=ids, **options)
