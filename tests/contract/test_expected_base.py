"""The rule of Delta UniForm's converter: commit on the snapshot that was expected, or not at all."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.table import Table

from seriatim.commit import pinned
from seriatim.errors import ConflictError, OutcomeUnknownError
from tests.contract.apply_support import Deposit, call, opening, settings
from tests.faults.bank import Bank
from tests.faults.catalog import REPORTS, Fault, Landing


def test_a_change_lands_on_the_base_that_was_expected(bank: Bank) -> None:
    """Nothing else is different."""
    receipt = call(bank, Deposit(10), expected_base=bank.head())

    assert bank.balances()[1] == 110
    assert receipt.attempts == 1


def test_another_base_is_refused_before_anything_is_computed(bank: Bank) -> None:
    """B's last converted snapshot is S0 and the table is at S1: B aborts."""
    expected = bank.head()
    bank.deposit(5)
    change = Deposit(10)

    with pytest.raises(ConflictError) as caught:
        call(bank, change, expected_base=expected)

    assert change.bases == []
    assert (caught.value.expected, caught.value.actual) == (expected, bank.head())
    assert bank.balances()[1] == 105


def test_a_race_that_is_lost_is_not_run_again(bank: Bank) -> None:
    """A check before the commit leaves a window: the base is a requirement inside the catalog's own."""
    change = Deposit(10, lambda: bank.deposit(5))

    with pytest.raises(ConflictError):
        call(bank, change, expected_base=bank.head())

    assert len(change.bases) == 1
    assert bank.balances()[1] == 105
    assert bank.inventory().unreachable == []


def test_a_rival_in_other_files_is_one_too_many(empty_bank: Bank) -> None:
    """No rebase: the base is expected, whatever was read."""
    bank = empty_bank.create(())

    with pytest.raises(ConflictError):
        call(bank, opening(1, 100, lambda: bank.open_account(2, 200)), expected_base=None)

    assert bank.balances() == {2: 200}


def test_an_empty_table_can_be_expected(empty_bank: Bank) -> None:
    """None is a base: that of a table without a snapshot."""
    bank = empty_bank.create(())

    call(bank, opening(1, 100), expected_base=None)
    with pytest.raises(ConflictError):
        call(bank, opening(2, 200), expected_base=None)

    assert bank.balances() == {1: 100}


def test_what_has_landed_already_is_success(bank: Bank) -> None:
    """The loser finds that its version is there and goes on: the id is looked up before the base."""
    expected = bank.head()
    first = call(bank, Deposit(10), "version 2", expected_base=expected)

    again = call(bank, Deposit(10), "version 2", expected_base=expected)

    assert bank.balances()[1] == 110
    assert again.already_applied == {"version 2": first.snapshot_ids[-1]}


@pytest.mark.parametrize("landing", [Landing.AT_ONCE, Landing.NEVER])
def test_a_lost_reply_is_looked_up_and_not_run_again(bank: Bank, landing: Landing) -> None:
    """It landed: success. It is not to be seen, and may land yet: said so."""
    catalog = bank.connect().fail(Fault(REPORTS["ConnectionError"](), landing))
    change = Deposit(10)

    if landing is Landing.AT_ONCE:
        call(bank, change, catalog=catalog, expected_base=bank.head())
    else:
        with pytest.raises(OutcomeUnknownError):
            call(bank, change, catalog=catalog, expected_base=bank.head())

    assert len(change.bases) == len(catalog.submitted) == 1
    assert bank.balances()[1] == (110 if landing is Landing.AT_ONCE else 100)


def test_several_snapshots_land_on_the_expected_base_in_order(bank: Bank) -> None:
    """One commit, one compare-and-swap: only the first snapshot is checked against the base."""
    expected, catalog = bank.head(), bank.connect()

    def convert(table: Table) -> None:
        for version in (1, 2, 3):
            row = pa.Table.from_pylist([{"id": version, "bal": version}], schema=table.schema().as_arrow())
            table.append(row, snapshot_properties={"delta-version": str(version)})

    receipt = pinned(catalog, bank.identifier, convert, **settings({"expected_base": expected}))

    assert len(catalog.submitted) == 1
    versions = []
    for snapshot_id in receipt.snapshot_ids:
        snapshot = bank.table().snapshot_by_id(snapshot_id)
        assert snapshot is not None
        assert snapshot.summary is not None
        versions.append(snapshot.summary["delta-version"])
    assert versions == ["1", "2", "3"]
    assert bank.head() == receipt.snapshot_ids[-1]
