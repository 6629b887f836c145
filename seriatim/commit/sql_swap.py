"""Commits to PyIceberg's SQL catalog on the metadata that was loaded, without loading it a second time.

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
from pyiceberg.io import FileIO
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate

from seriatim.commit import private, residue

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog
    from sqlalchemy import Update

_STEPS: Final = ("commit_table", "load_table", "_update_and_stage_table", "_write_metadata", "_load_file_io")


def swapping(catalog: Catalog) -> SqlCatalog | None:
    """Return the catalog if it is a SQL catalog that commits in PyIceberg's own way; None: it is to commit itself."""
    sql = sys.modules.get("pyiceberg.catalog.sql")  # Where nobody has imported it, there is no such catalog.
    if sql is None or not isinstance(catalog, sql.SqlCatalog) or not catalog.engine.dialect.supports_sane_rowcount:
        return None
    is_own = all(_function(getattr(catalog, name)) is getattr(sql.SqlCatalog, name) for name in _STEPS)
    return catalog if is_own else None


def _function(method: object) -> object:
    return getattr(method, "__func__", method)


def commit_table(
    catalog: SqlCatalog,
    table: Table,
    requirements: tuple[TableRequirement, ...],
    updates: tuple[TableUpdate, ...],
    io: FileIO,
) -> CommitTableResponse:
    """Commit as `catalog.commit_table` does, to a table that is as it was loaded, and write through `io`.

    Raises:
        As `catalog.commit_table`.
    """
    from pyiceberg.catalog.sql import SqlCatalog

    for requirement in requirements:
        requirement.validate(table.metadata)
    metadata = private.updated_metadata(table.metadata, updates, table.metadata_location)
    location = private.next_metadata_location(table)
    ToOutputFile.table_metadata(metadata, io.new_output(location))
    if _swap(catalog, table, location):
        return CommitTableResponse(metadata=metadata, metadata_location=location)
    residue.remove(io, [location])  # It never was the table's, and nobody knows of it.
    return SqlCatalog.commit_table(catalog, table, requirements, updates)


def _swap(catalog: SqlCatalog, table: Table, location: str) -> bool:
    """Put the new metadata file in the place of the one that was loaded; False: another one is there."""
    name = table.name()
    values = {
        "of_catalog": catalog.name,
        "in_namespace": Catalog.namespace_to_string(Catalog.namespace_from(name)),
        "of_name": Catalog.table_name_from(name),
        "loaded": table.metadata_location,
        "location": location,
    }
    with catalog.engine.connect() as connection:
        if connection.execute(_statement(), values).rowcount < 1:
            return False
        connection.commit()
    return True


@cache
def _statement() -> Update:
    from pyiceberg.catalog.sql import IcebergTables
    from sqlalchemy import bindparam, update

    return (
        update(IcebergTables)
        .where(
            IcebergTables.catalog_name == bindparam("of_catalog"),
            IcebergTables.table_namespace == bindparam("in_namespace"),
            IcebergTables.table_name == bindparam("of_name"),
            IcebergTables.metadata_location == bindparam("loaded"),
        )
        .values(metadata_location=bindparam("location"), previous_metadata_location=bindparam("loaded"))
    )
