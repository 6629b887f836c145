"""Loads from PyIceberg's SQL catalog, and commits to it on the metadata that was loaded, which is not loaded again.

Such a catalog keeps nothing of a table but where its metadata file lies, and a file that is there never changes. Its
own `commit_table` loads the table, checks the requirements, writes a new file, and puts that in the place of the file
that it loaded. An attempt has loaded one already: as long as the catalog names the same file, a second load brings
nothing. Where it names another one, what has changed may be harmless (a property, another branch), and the catalog is
to judge.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Final

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.serializers import Compressor
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import Identifier
from pyiceberg.utils.config import Config

from seriatim.commit import carried, private, residue

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog
    from sqlalchemy import ColumnElement, Select, Update

_STEPS: Final = ("commit_table", "load_table", "_update_and_stage_table", "_write_metadata", "_load_file_io")


class RefusedError(CommitFailedException):
    """Private: the database itself has said that the commit did not land, and it was asked once."""


def swapping(catalog: Catalog) -> SqlCatalog | None:
    """Return the catalog if it is a SQL catalog that commits in PyIceberg's own way; None: it is to commit itself."""
    sql = sys.modules.get("pyiceberg.catalog.sql")  # Where nobody has imported it, there is no such catalog.
    if sql is None or not isinstance(catalog, sql.SqlCatalog) or not catalog.engine.dialect.supports_sane_rowcount:
        return None
    is_own = all(_function(getattr(catalog, name)) is getattr(sql.SqlCatalog, name) for name in _STEPS)
    return catalog if is_own else None


def _function(method: object) -> object:
    return getattr(method, "__func__", method)


def load_table(catalog: SqlCatalog, identifier: str | Identifier) -> Table:
    """Load a table as `catalog.load_table` does, by one look at where its metadata file lies.

    Raises:
        As `catalog.load_table`.
    """
    with catalog.engine.connect() as connection:
        location = connection.execute(_selection(), _names(catalog, Catalog.identifier_to_tuple(identifier))).scalar()
    metadata = None if location is None else _read(catalog, location)
    if location is None or metadata is None:
        return catalog.load_table(identifier)  # Which says what is the matter.
    name, io = Catalog.identifier_to_tuple(identifier), private.table_io(catalog, metadata.properties, location)
    return Table(name, metadata, location, io, catalog)


def _read(catalog: SqlCatalog, location: str) -> TableMetadata | None:
    """Return the metadata that lie there; None: they cannot be read, are a view's, or were forgotten since."""
    source = load_file_io(catalog.properties, location).new_input(location)
    try:
        with source.open() as stream, Compressor.get_compressor(location).stream_decompressor(stream) as plain:
            return carried.read(plain.read())
    except Exception:  # noqa: BLE001  # Whatever it is, the catalog meets it, too, or finds what is there by now.
        return None


def commit_table(
    catalog: SqlCatalog,
    table: Table,
    requirements: tuple[TableRequirement, ...],
    updates: tuple[TableUpdate, ...],
    io: FileIO,
) -> CommitTableResponse:
    """Commit as `catalog.commit_table` does, to a table that is as it was loaded, and write through `io`.

    Raises:
        As `catalog.commit_table`; RefusedError: it has not landed, and never will.
    """
    from pyiceberg.catalog.sql import SqlCatalog

    for requirement in requirements:
        requirement.validate(table.metadata)
    metadata = private.updated_metadata(table.metadata, updates, table.metadata_location)
    location = private.next_metadata_location(table)
    _write(metadata, io, location)
    if _swap(catalog, table, location):
        return CommitTableResponse(metadata=metadata, metadata_location=location)
    residue.remove(io, [location])  # It never was the table's, and nobody knows of it.
    try:
        return SqlCatalog.commit_table(catalog, table, requirements, updates)
    except CommitFailedException as err:  # It comes of what was read, or of a swap that was rolled back.
        raise RefusedError(str(err)) from err


def _write(metadata: TableMetadata, io: FileIO, location: str) -> None:
    text = carried.text_of(metadata, exclude_none=not _keeps_none())
    content = Compressor.get_compressor(location).bytes_compressor()(text)
    with io.new_output(location).create() as stream:
        stream.write(content)


@cache
def _keeps_none() -> bool:
    """Tell whether PyIceberg is configured to write what is absent, too; it looks that up for each file."""
    return bool(Config().get_bool("legacy-current-snapshot-id"))


def _swap(catalog: SqlCatalog, table: Table, location: str) -> bool:
    """Put the new metadata file in the place of the one that was loaded; False: another one is there."""
    locations = {"loaded": table.metadata_location, "location": location}
    with catalog.engine.connect() as connection:
        if connection.execute(_update(), {**_names(catalog, table.name()), **locations}).rowcount < 1:
            return False
        connection.commit()
    return True


def _names(catalog: SqlCatalog, name: Identifier) -> dict[str, str]:
    return {
        "of_catalog": catalog.name,
        "in_namespace": Catalog.namespace_to_string(Catalog.namespace_from(name)),
        "of_name": Catalog.table_name_from(name),
    }


@cache
def _selection() -> Select[tuple[str | None]]:
    from pyiceberg.catalog.sql import IcebergTables
    from sqlalchemy import select

    return select(IcebergTables.metadata_location).where(*_is_named())


@cache
def _update() -> Update:
    from pyiceberg.catalog.sql import IcebergTables
    from sqlalchemy import bindparam, update

    is_loaded = IcebergTables.metadata_location == bindparam("loaded")
    swapped = update(IcebergTables).where(*_is_named(), is_loaded)
    return swapped.values(metadata_location=bindparam("location"), previous_metadata_location=bindparam("loaded"))


def _is_named() -> tuple[ColumnElement[bool], ...]:
    from pyiceberg.catalog.sql import IcebergTables
    from sqlalchemy import bindparam

    return (
        IcebergTables.catalog_name == bindparam("of_catalog"),
        IcebergTables.table_namespace == bindparam("in_namespace"),
        IcebergTables.table_name == bindparam("of_name"),
    )
