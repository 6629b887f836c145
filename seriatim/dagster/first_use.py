"""Making a catalog and its tables for the first time, from several processes at once.

PyIceberg asks whether a thing is there and then creates it; between the two another process may have created it. What
the loser then sees depends on the moment and on the database: `... already exists` as an OperationalError (SQLite), a
ProgrammingError or an IntegrityError (PostgreSQL), PyIceberg's own `...AlreadyExistsError`, or SQLite's `database is
locked`. All of them mean: look again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NamespaceAlreadyExistsError, NoSuchTableError, TableAlreadyExistsError
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.typedef import EMPTY_DICT
from sqlalchemy.exc import DBAPIError, IntegrityError

from seriatim.dagster.errors import CatalogBusyError
from seriatim.system import Clock, SystemClock

T = TypeVar("T")

_TRIES_MAX: Final = 40
_WAIT_S: Final = 0.1
_LOOK_AGAIN: Final = ("already exists", "database is locked")


def first_use(what: str, action: Callable[[], T], *, clock: Clock | None = None, tries_max: int = _TRIES_MAX) -> T:
    """Return `action()`, called again while another process is creating the same thing or has the database locked.

    Raises:
        CatalogBusyError: it was so at each of `tries_max` tries.
    """
    clock = clock or SystemClock()
    reason = ""
    for _ in range(tries_max):
        try:
            return action()
        except DBAPIError as busy:
            reason = str(busy.orig)
            if not any(words in reason for words in _LOOK_AGAIN):
                raise
        clock.wait_s(_WAIT_S)
    raise CatalogBusyError(what, tries=tries_max, reason=reason)


def ensure_table(
    catalog: Catalog, identifier: tuple[str, ...], schema: Schema, properties: Mapping[str, str] = EMPTY_DICT
) -> Table:
    """Return the table, made with its namespace if it is not there; who loses the race to make it loads the winner's.

    Raises:
        CatalogBusyError: the catalog's database was locked for too long.
    """
    return first_use(".".join(identifier), lambda: _load_or_create(catalog, identifier, schema, properties))


def ensure_namespace(catalog: Catalog, namespace: tuple[str, ...]) -> None:
    """Make the namespace if it is not there, also with several processes at once.

    Raises:
        CatalogBusyError: the catalog's database was locked for too long.
    """
    first_use(".".join(namespace), lambda: _create_namespace(catalog, namespace))


def _load_or_create(
    catalog: Catalog, identifier: tuple[str, ...], schema: Schema, properties: Mapping[str, str]
) -> Table:
    try:
        return catalog.load_table(identifier)
    except NoSuchTableError:
        _create_namespace(catalog, identifier[:-1])
    try:
        return catalog.create_table(identifier, schema, properties=dict(properties))
    except TableAlreadyExistsError:
        return catalog.load_table(identifier)


def _create_namespace(catalog: Catalog, namespace: tuple[str, ...]) -> None:
    try:
        catalog.create_namespace_if_not_exists(namespace)
    except (NamespaceAlreadyExistsError, IntegrityError):  # SqlCatalog lets the latter through (0.12).
        if not catalog.namespace_exists(namespace):
            raise
