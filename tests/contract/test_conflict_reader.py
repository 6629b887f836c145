"""The recorded conflicts of a table, read back without Dagster."""

from __future__ import annotations

import pytest
from pyiceberg.exceptions import NoSuchTableError

from seriatim.conflict_events import ConflictEvent
from seriatim.conflict_rows import SCHEMA, conflict_rows
from seriatim.errors import ConflictTableError
from seriatim.inspection import recorded_conflicts
from tests.faults.bank import Bank

OLD = ConflictEvent("e1", "bank.account", 1, "run-a", ("a", "b"), None, (), None, None, 7, 12, 1_000)
NEW = ConflictEvent("e2", "bank.account", 2, "run-b", ("c",), "run-a", ("a",), 7, 5, 7, 34, 2_001)
OTHER = ConflictEvent("e3", "bank.loan", 1, "run-c", (), "run-a", ("a",), 7, 5, 7, 56, 3_000)


def _record(bank: Bank, *events: ConflictEvent, name: str = "bank.conflicts") -> None:
    with bank.rival() as catalog:
        catalog.create_table(name, SCHEMA).append(conflict_rows(events))


def test_the_conflicts_of_one_table_come_newest_first_as_they_were_recorded(bank: Bank) -> None:
    _record(bank, OLD, OTHER, NEW)

    assert recorded_conflicts(bank.connect(), bank.identifier) == [NEW, OLD]
    assert recorded_conflicts(bank.connect(), ("bank", "account"), limit=1) == [NEW]


def test_they_may_be_kept_in_another_table(bank: Bank) -> None:
    _record(bank, OLD, name="bank.lost")

    assert recorded_conflicts(bank.connect(), bank.identifier, source="bank.lost") == [OLD]


def test_a_table_without_conflicts_has_none(bank: Bank) -> None:
    _record(bank, OTHER)

    assert recorded_conflicts(bank.connect(), bank.identifier) == []


def test_a_table_that_is_not_there_is_no_table_without_conflicts(bank: Bank) -> None:
    """A name that is misspelt must not look like good news."""
    _record(bank, OTHER)

    with pytest.raises(NoSuchTableError, match=r"bank\.acount"):
        recorded_conflicts(bank.connect(), "bank.acount")


def test_a_table_of_something_else_is_refused(bank: Bank) -> None:
    with pytest.raises(ConflictTableError) as refused:
        recorded_conflicts(bank.connect(), bank.identifier, source=bank.identifier)

    assert refused.value.table == "bank.account"
    assert "event_id" in refused.value.missing
