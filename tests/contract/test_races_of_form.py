"""Rivals that change no row, or not only rows: the form of the table, its history, the table itself."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pyarrow as pa
import pytest
from pyiceberg.table import Table
from pyiceberg.table.update import AssertTableUUID, SetSnapshotRefUpdate

from seriatim.commit import Append, Base, Change, Receipt, Rewrite, Upsert, pinned
from seriatim.errors import TableReplacedError, UnconfirmedConflictError
from tests.contract.apply_support import Deposit, call, settings
from tests.faults.bank import Bank
from tests.faults.replace import compact

Moment = Callable[[], None]
Balances = dict[int, int]


def _row(schema: pa.Schema, account_id: int, balance: int) -> pa.Table:
    return pa.Table.from_pylist([{"id": account_id, "bal": balance}], schema=schema)


def _apply(make: Callable[[Base], Change]) -> Callable[[Bank, Moment], Receipt]:
    def run(bank: Bank, meanwhile: Moment) -> Receipt:
        left = [meanwhile]

        def change(base: Base) -> Change:
            made = make(base)
            if left:
                left.pop()()
            return made

        return call(bank, change)

    return run


def _pinned(do: Callable[[Table, pa.Table, Moment], object]) -> Callable[[Bank, Moment], Receipt]:
    def run(bank: Bank, meanwhile: Moment) -> Receipt:
        left = [meanwhile]

        def once() -> None:
            if left:
                left.pop()()

        def fn(table: Table) -> None:
            do(table, table.scan().to_arrow(), once)

        return pinned(bank.connect(), bank.identifier, fn, **settings({}))

    return run


def _arrow(base: Base) -> pa.Schema:
    schema: pa.Schema = base.schema.as_arrow()
    return schema


def _pinned_total(table: Table, rows: pa.Table, meanwhile: Moment) -> None:
    meanwhile()
    table.append(_row(table.schema().as_arrow(), 9, sum(rows["bal"].to_pylist())))


def _pinned_upsert(table: Table, rows: pa.Table, meanwhile: Moment) -> None:
    meanwhile()
    table.upsert(_row(table.schema().as_arrow(), 1, 5), ["id"])


def _pinned_overwrite(table: Table, rows: pa.Table, meanwhile: Moment) -> None:
    meanwhile()
    table.overwrite(_row(table.schema().as_arrow(), 1, 5), "id == 1")


# What a call makes of the balances it meets.
def _total(before: Balances) -> Balances:
    return {**before, 9: sum(before.values())}


def _five(before: Balances) -> Balances:
    return {**before, 1: 5}


CALLS: dict[str, tuple[Callable[[Bank, Moment], Receipt], Callable[[Balances], Balances]]] = {
    "append a total": (
        _apply(lambda base: Append(_row(_arrow(base), 9, sum(base.read()["bal"].to_pylist())))), _total
    ),
    "upsert": (_apply(lambda base: Upsert(_row(_arrow(base), 1, 5), keys="id")), _five),
    "rewrite": (_apply(lambda base: Rewrite(_row(_arrow(base), 1, 5), where="id == 1")), _five),
    "pinned append of a total": (_pinned(_pinned_total), _total),
    "pinned upsert": (_pinned(_pinned_upsert), _five),
    "pinned overwrite": (_pinned(_pinned_overwrite), _five),
}  # fmt: skip


def _deposit_and_expire(bank: Bank) -> None:
    call(bank, Deposit(7))
    bank.expire_all_but_head()


def _deposit_and_compact(bank: Bank) -> None:
    bank.deposit(7)
    compact(bank)


def _compact_and_expire(bank: Bank) -> None:
    compact(bank)
    bank.expire_all_but_head()


RIVALS: dict[str, Callable[[Bank], None]] = {
    "changes the schema": lambda bank: bank.add_column(),
    "compacts by overwrite": lambda bank: bank.compact(),
    "compacts by replace": compact,
    "changes a row and expires our base": _deposit_and_expire,
    "changes a row and compacts": _deposit_and_compact,
    "compacts and expires our base": _compact_and_expire,
    "changes a row and rolls it back": lambda bank: bank.roll_back_a_deposit(7),
    "sets a property": lambda bank: bank.set_property("owner", "somebody"),
}


# After a new column without a new snapshot PyIceberg's own upsert reads by the old schema and writes by the new one.
CASES = [case for case in product(RIVALS, CALLS) if case != ("changes the schema", "pinned upsert")]


@pytest.mark.parametrize(("rival", "what"), CASES[::2])
def test_a_rival_that_changes_more_than_rows_is_met_serially(bank: Bank, rival: str, what: str) -> None:
    """What ours makes of the table is what it makes of the rows that the rival left, and the rival's form stays."""
    _check(bank, rival, what)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("rival", "what"), CASES[1::2])
def test_every_rival_that_changes_more_than_rows_is_met_serially(bank: Bank, rival: str, what: str) -> None:
    """The other half of the product."""
    _check(bank, rival, what)


def _check(bank: Bank, rival: str, what: str) -> None:
    run, result = CALLS[what]
    left: list[Balances] = []

    def meanwhile() -> None:
        RIVALS[rival](bank)
        left.append(bank.balances())

    run(bank, meanwhile)

    assert bank.balances() == result(left[0])
    assert len(bank.rows()) == len(bank.balances())
    assert ("note" in bank.table().schema().column_names) == (rival == "changes the schema")
    assert bank.table().properties.get("owner") == ("somebody" if rival == "sets a property" else None)
    assert bank.inventory().missing == []
    if "expires" not in rival:  # The files of what was expired are the rival's.
        assert bank.inventory().unreachable == []


def _set_head(bank: Bank, snapshot_id: int | None) -> None:
    assert snapshot_id is not None
    with bank.rival() as catalog:
        table = catalog.load_table(bank.identifier)
        update = SetSnapshotRefUpdate(
            ref_name="main",
            type="branch",
            snapshot_id=snapshot_id,
            max_ref_age_ms=None,
            max_snapshot_age_ms=None,
            min_snapshots_to_keep=None,
        )
        catalog.commit_table(table, (AssertTableUUID(uuid=table.metadata.table_uuid),), (update,))


@pytest.mark.parametrize("what", CALLS)
def test_our_base_rolled_back_is_computed_again_on_what_was_before(bank: Bank, what: str) -> None:
    """The base is in the table still, and its rows are not."""
    run, result = CALLS[what]
    before = bank.head()
    bank.change(2, bal=7)

    run(bank, lambda: _set_head(bank, before))

    assert bank.balances() == result({1: 100, 2: 200, 3: 300})
    assert bank.inventory().unreachable == []


@pytest.mark.parametrize("what", [name for name in CALLS if name not in ("pinned upsert", "pinned overwrite")])
def test_what_an_expiry_hides_is_said_to_be_unknown(bank: Bank, what: str) -> None:
    """The snapshot that has our sequence number is gone: it could have been ours, on which the rival's one came."""
    run, _ = CALLS[what]

    def meanwhile() -> None:
        bank.deposit(7)  # PyIceberg's overwrite makes two snapshots, of which only the second is left.
        bank.expire_all_but_head()

    with pytest.raises(UnconfirmedConflictError):
        run(bank, meanwhile)

    assert bank.balances() == {1: 107, 2: 200, 3: 300}
    assert bank.inventory().missing == []


@pytest.mark.parametrize("what", CALLS)
def test_a_table_that_took_the_place_of_ours_is_not_written(bank: Bank, what: str) -> None:
    """Dropped and created anew between read and write: an error that says so."""
    run, _ = CALLS[what]

    with pytest.raises(TableReplacedError) as caught:
        run(bank, lambda: bank.replace([{"id": 1, "bal": 7}, {"id": 2, "bal": 8}]))

    assert bank.balances() == {1: 7, 2: 8}
    assert len(bank.snapshot_ids()) == 1
    assert caught.value.actual_uuid == str(bank.table().metadata.table_uuid)
