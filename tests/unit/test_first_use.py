"""Losing the race to create a catalog, a namespace or a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField
from sqlalchemy.exc import OperationalError

from seriatim.dagster import CatalogBusyError, ensure_table, open_catalog
from seriatim.dagster.first_use import first_use
from tests.faults.clock import ManualClock

IDENTIFIER = ("bank", "account")
SCHEMA = Schema(NestedField(1, "id", LongType(), required=True))


def busy(words: str) -> OperationalError:
    return OperationalError("CREATE TABLE ...", {}, Exception(words))


class Refusing:
    """An action that fails `times` times before it returns 7."""

    def __init__(self, error: Exception, times: int) -> None:
        self.error, self.times, self.calls = error, times, 0

    def __call__(self) -> int:
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return 7


class RacedCatalog(SqlCatalog):
    """A catalog whose answer "there is none" is stale when it arrives: `rival` was faster."""

    rival: Callable[[], object] | None = None

    def namespace_exists(self, namespace: Any) -> bool:
        found = super().namespace_exists(namespace)
        self._let_rival_win()
        return found

    def create_table(self, *args: Any, **options: Any) -> Table:
        self._let_rival_win()
        return super().create_table(*args, **options)

    def _let_rival_win(self) -> None:
        rival, self.rival = self.rival, None
        if rival:
            rival()


def properties(path: Path) -> dict[str, str]:
    return {"uri": f"sqlite:///{path}/catalog.db", "warehouse": f"file://{path}"}


@pytest.fixture
def winner(tmp_path: Path) -> SqlCatalog:
    return SqlCatalog("bank", **properties(tmp_path))


@pytest.fixture
def loser(tmp_path: Path, winner: SqlCatalog) -> Iterator[RacedCatalog]:
    catalog = RacedCatalog("bank", **properties(tmp_path))
    yield catalog
    winner.engine.dispose()
    catalog.engine.dispose()


@pytest.mark.parametrize("words", ["database is locked", "table iceberg_tables already exists"])
def test_a_busy_database_is_asked_again(words: str) -> None:
    """Both mean that another process is at the same thing."""
    clock, action = ManualClock(), Refusing(busy(words), times=3)

    assert first_use("catalog bank", action, clock=clock) == 7
    assert (action.calls, len(clock.waits)) == (4, 3)


def test_a_database_that_stays_busy_is_a_named_error() -> None:
    """It is asked a bounded number of times; the answer of the database is told."""
    action = Refusing(busy("database is locked"), times=100)

    with pytest.raises(CatalogBusyError) as gave_up:
        first_use("catalog bank", action, clock=ManualClock(), tries_max=5)

    assert (gave_up.value.what, gave_up.value.tries, action.calls) == ("catalog bank", 5, 5)
    assert gave_up.value.reason == "database is locked"


def test_any_other_error_comes_out_at_once() -> None:
    """A disk that is full is not cured by asking again."""
    action = Refusing(busy("disk I/O error"), times=100)

    with pytest.raises(OperationalError):
        first_use("catalog bank", action, clock=ManualClock())

    assert action.calls == 1


def test_who_loses_the_namespace_still_makes_the_table(winner: SqlCatalog, loser: RacedCatalog) -> None:
    """PyIceberg lets the database's IntegrityError through here."""
    loser.rival = lambda: winner.create_namespace("bank")

    table = ensure_table(loser, IDENTIFIER, SCHEMA)

    assert table.metadata.table_uuid == winner.load_table(IDENTIFIER).metadata.table_uuid


def test_who_loses_the_table_loads_the_winners(winner: SqlCatalog, loser: RacedCatalog) -> None:
    """There is one table, and both have it."""
    winner.create_namespace("bank")
    loser.create_namespace_if_not_exists("bank")
    loser.rival = lambda: winner.create_table(IDENTIFIER, SCHEMA)

    table = ensure_table(loser, IDENTIFIER, SCHEMA)

    assert table.metadata.table_uuid == winner.load_table(IDENTIFIER).metadata.table_uuid


def test_a_table_that_is_there_is_loaded(winner: SqlCatalog) -> None:
    """Every run after the first does only this."""
    first = ensure_table(winner, IDENTIFIER, SCHEMA)

    assert ensure_table(winner, IDENTIFIER, SCHEMA).metadata.table_uuid == first.metadata.table_uuid


def test_the_folders_of_a_local_catalog_are_made(tmp_path: Path) -> None:
    """SQLite makes its file, but not the folder."""
    place = tmp_path / "not" / "there yet"

    catalog = open_catalog(
        "bank", uri=f"sqlite:///{place}/catalog.db?timeout=60", warehouse=f"file://{place}/files", properties={}
    )

    assert catalog.list_namespaces() == []
    assert sorted(path.name for path in place.iterdir()) == ["catalog.db", "files"]
