"""A commit to a SQL catalog that does not load the table again is what the catalog's own commit is."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import AssertRefSnapshotId, SetPropertiesUpdate
from sqlalchemy import event

from seriatim.commit import RetentionPolicy, pinned, sql_swap
from tests.contract.apply_support import Deposit, call
from tests.faults.avro_files import path_of
from tests.faults.bank import Bank
from tests.faults.catalog import Fault, Landing, Request

OWN_OF_EACH: Final = {"snapshot-id", "parent-snapshot-id", "current-snapshot-id", "timestamp-ms", "last-updated-ms"}


class Asked(SqlCatalog):
    """Counts the commits that it is asked for, and is no other catalog for that."""

    loads = 0


def connect(bank: Bank, kind: type[SqlCatalog] = SqlCatalog) -> SqlCatalog:
    """Return a catalog whose commits are PyIceberg's own."""
    return kind("bank", **bank.properties())


def metadata_files(bank: Bank) -> set[str]:
    """Return the names of the table's metadata files."""
    return {path.name for path in bank.path.rglob("*.metadata.json")}


def deposit_updates(bank: Bank, catalog: SqlCatalog) -> Request:
    """Return a table as it was loaded, with what a change of it asks the catalog for."""
    table = catalog.load_table(bank.identifier)
    head = table.current_snapshot()
    requirement = AssertRefSnapshotId(ref="main", snapshot_id=head.snapshot_id if head else None)
    return table, (requirement,), (SetPropertiesUpdate(updates={"told": "yes"}),)


def swap(catalog: SqlCatalog, request: Request) -> CommitTableResponse:
    """Commit without loading again."""
    return sql_swap.commit_table(catalog, *request, request[0].io)


def comparable(text: str) -> Any:
    """Return a metadata file's contents without what no two commits have in common."""

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(each) for key, each in value.items() if key not in OWN_OF_EACH}
        return [without(each) for each in value] if isinstance(value, list) else value

    return without(json.loads(text))


def test_both_ways_write_the_same_metadata(bank: Bank) -> None:
    """The same properties, the same log of former files, under the next number."""
    catalog = connect(bank)
    table, requirements, updates = deposit_updates(bank, catalog)
    ours = swap(catalog, (table, requirements, updates))
    catalog.commit_table(table, requirements, (SetPropertiesUpdate(updates={"told": "no"}),))
    table = catalog.load_table(bank.identifier)
    theirs = catalog.commit_table(table, requirements, updates)

    first, second = (comparable(path_of(each.metadata_location).read_text()) for each in (ours, theirs))
    assert ours.metadata.properties == theirs.metadata.properties == {"told": "yes"}
    assert first == {**second, "metadata-log": first["metadata-log"]}
    assert second["metadata-log"][: len(first["metadata-log"])] == first["metadata-log"]
    assert [each.metadata_location.rpartition("/")[2][:5] for each in (ours, theirs)] == ["00002", "00004"]


def test_what_is_returned_is_what_is_loaded(bank: Bank) -> None:
    """Metadata, and where it lies."""
    catalog = connect(bank)

    response = swap(catalog, deposit_updates(bank, catalog))

    table = bank.table()
    assert response == CommitTableResponse(metadata=table.metadata, metadata_location=table.metadata_location)


def test_a_harmless_change_in_between_is_the_catalogs_to_judge(bank: Bank) -> None:
    """A property that somebody has set moves the metadata file and not the base: both land, and no file is left."""
    catalog = connect(bank)
    request = deposit_updates(bank, catalog)
    with bank.rival() as rival:
        rival.load_table(bank.identifier).transaction().set_properties(theirs="too").commit_transaction()
    before = metadata_files(bank)

    swap(catalog, request)

    assert bank.table().properties == {"told": "yes", "theirs": "too"}
    assert len(metadata_files(bank) - before) == 1


def test_a_moved_base_is_a_conflict(bank: Bank) -> None:
    """As the catalog says it, and without a file that is left."""
    catalog = connect(bank)
    request = deposit_updates(bank, catalog)
    bank.deposit(10)
    before = metadata_files(bank)

    with pytest.raises(CommitFailedException):
        swap(catalog, request)

    assert metadata_files(bank) == before
    assert bank.balances()[1] == 110


def test_a_table_that_is_gone_is_not_made_again(bank: Bank) -> None:
    """Nobody asked for that."""
    catalog = connect(bank)
    request = deposit_updates(bank, catalog)
    with bank.rival() as rival:
        rival.drop_table(bank.identifier)

    with pytest.raises((CommitFailedException, NoSuchTableError)):
        swap(catalog, request)

    assert not connect(bank).table_exists(bank.identifier)


def test_a_call_asks_the_database_twice(bank: Bank) -> None:
    """Once where the metadata lies, once to swap it."""
    catalog = connect(bank)
    statements: list[str] = []
    event.listen(
        catalog.engine,
        "before_cursor_execute",
        lambda connection, cursor, statement, *rest: statements.append(statement.split()[0]),
    )

    call(bank, Deposit(5), catalog=catalog)

    assert statements == ["SELECT", "UPDATE"]
    assert bank.balances()[1] == 105


def test_a_table_is_loaded_as_the_catalog_loads_it(bank: Bank) -> None:
    """Its name, its metadata, where those lie, and what its files are read by."""
    catalog = connect(bank)

    for identifier in (bank.identifier, tuple(bank.identifier.split("."))):
        ours, theirs = sql_swap.load_table(catalog, identifier), catalog.load_table(identifier)
        assert (ours.name(), ours.metadata, ours.metadata_location) == (
            theirs.name(),
            theirs.metadata,
            theirs.metadata_location,
        )
        assert ours.catalog is theirs.catalog is catalog
        assert type(ours.io) is type(theirs.io)
        assert ours.io.properties == theirs.io.properties


@pytest.mark.parametrize("identifier", ["bank.nobody", "nowhere.account", ("bank", "no", "one")])
def test_a_table_that_is_not_there_is_the_catalogs_to_say(bank: Bank, identifier: Any) -> None:
    """In its own words."""
    with pytest.raises(NoSuchTableError):
        sql_swap.load_table(connect(bank), identifier)


def test_a_table_without_its_metadata_is_the_catalogs_to_say(bank: Bank) -> None:
    """As it says it to everybody."""
    path_of(bank.table().metadata_location).unlink()

    with pytest.raises(FileNotFoundError):
        sql_swap.load_table(connect(bank), bank.identifier)


def test_a_catalog_with_a_mind_of_its_own_commits_itself(bank: Bank) -> None:
    """What a subclass does in one of the steps is not by-passed."""

    class Checking(SqlCatalog):
        def load_table(self, identifier: Any) -> Table:
            return super().load_table(identifier)

    watched = connect(bank)
    watched.commit_table = catalog_commit = watched.commit_table  # type: ignore[method-assign]
    assert sql_swap.swapping(connect(bank, Asked)) is not None
    assert sql_swap.swapping(watched) is not None
    assert sql_swap.swapping(connect(bank, Checking)) is None

    def watching(*request: Any) -> CommitTableResponse:
        return catalog_commit(*request)

    watched.commit_table = watching  # type: ignore[method-assign, assignment]
    assert sql_swap.swapping(watched) is None


def test_what_a_caller_scribbles_on_the_loaded_metadata_does_not_land(bank: Bank) -> None:
    """In `pinned` it has the table in its hands: what it did not commit is not committed."""

    def scribble(table: Table) -> None:
        table.metadata.properties["scribbled"] = "yes"

    pinned(connect(bank), bank.identifier, scribble, operation_ids=["it"])

    assert "scribbled" not in bank.table().properties


@pytest.mark.parametrize("format_version", ["1", "2"])
def test_what_the_database_refused_is_dead_though_no_history_tells(empty_bank: Bank, format_version: str) -> None:
    """It needs no name by which the ledger would know it, and its files go."""
    bank = empty_bank.create(file_per_row=True, properties={"format-version": format_version})

    def meanwhile() -> None:
        for _ in range(3):
            call(bank, Deposit(5), retention=RetentionPolicy(snapshots_min=1))

    receipt = call(bank, Deposit(7, meanwhile, meanwhile), catalog=connect(bank))

    assert receipt.attempts == 3
    assert bank.balances() == {1: 137, 2: 200, 3: 300}
    assert bank.inventory().missing == []
    told = {path.name for path in bank.path.rglob("*.parquet")}
    assert len(told) == 3 + 6 + 1  # Each row, each deposit of the rival, and one of ours.


def test_what_anybody_else_calls_a_conflict_is_no_proof(bank: Bank) -> None:
    """Not even in the words that PyIceberg has for it."""
    catalog = bank.connect().fail(Fault(CommitFailedException("so they say"), Landing.AT_ONCE))

    call(bank, Deposit(7), catalog=catalog)

    assert bank.balances()[1] == 107
    assert bank.inventory().missing == []
