"""The Iceberg table that is the mirror: made if it is absent, and looked at before it is written."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError, TableAlreadyExistsError
from pyiceberg.schema import Schema
from pyiceberg.table import Table, TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.typedef import Identifier

from seriatim.commit.lineage import walk
from seriatim.commit.mirrors import MIRROR_OF, MIRROR_ROOT
from seriatim.commit.retention import GC_ENABLED
from seriatim.errors import SourceMismatchError
from seriatim.locations import Place
from seriatim.mirror.delta.log import DeltaLog
from seriatim.mirror.words import Mirrored

_PROPERTIES: Final = {
    TableProperties.FORMAT_VERSION: "2",
    GC_ENABLED: "false",  # Its data files are Delta's: no engine may delete them with a snapshot or the table.
    "write.metadata.delete-after-commit.enabled": "true",
}
_PATHS: Final = (TableProperties.WRITE_DATA_PATH, TableProperties.WRITE_METADATA_PATH)  # Where else it may write.


def create(
    catalog: Catalog,
    identifier: str | Identifier,
    table_id: str,
    location: str | None,
    properties: Mapping[str, str],
    log: DeltaLog,
) -> Table:
    """Create the mirror, empty and without columns; version 0 brings them. Somebody else may have been faster.

    Raises:
        NoSuchNamespaceError: the namespace is not there.
        SourceMismatchError: its place and the Delta table's would lie one within the other.
    """
    said = {**_PROPERTIES, **properties, MIRROR_OF: table_id, MIRROR_ROOT: log.root}
    require_apart(str(identifier), location, said, log)
    try:
        table = catalog.create_table(identifier, Schema(), location=location, properties=said)
    except TableAlreadyExistsError:
        return catalog.load_table(identifier)
    try:
        require_apart(name_of(table), table.location(), table.properties, log)
    except SourceMismatchError:
        catalog.drop_table(identifier)  # Nobody has been told of it.
        raise
    return table


def drop(catalog: Catalog, identifier: str | Identifier, source: str) -> None:
    """Take the mirror out of the catalog; no file is deleted.

    Raises:
        SourceMismatchError: the table is no mirror.
    """
    try:
        table = catalog.load_table(identifier)
    except NoSuchTableError:
        return
    if not is_mirror(table.metadata):
        raise SourceMismatchError(
            name_of(table),
            source=source,
            reason="it has never been a mirror",
            remedy="Name another table, or drop this one yourself.",
        )
    with suppress(NoSuchTableError):  # Somebody else who starts over was faster.
        catalog.drop_table(identifier)


def name_of(table: Table) -> str:
    """Return the table's name, for messages."""
    return ".".join(table.name())


def is_mirror(metadata: TableMetadata) -> bool:
    """Tell whether the table is, or has been, the mirror of a Delta table."""
    return MIRROR_OF in metadata.properties or any(Mirrored.of(each) is not None for each in metadata.snapshots)


def require_apart(name: str, location: str | None, properties: Mapping[str, str], log: DeltaLog) -> None:
    """Refuse a table whose places and the Delta table's lie one within the other.

    Delta's VACUUM deletes what it does not know within its root, and upkeep what it does not know within the table's.

    Raises:
        SourceMismatchError: they do.
    """
    theirs = Place.of(log.root)
    places = [location] if location is not None else []
    for each in (*places, *(properties[key] for key in _PATHS if key in properties)):
        ours = Place.of(each)
        if ours.contains(theirs) or theirs.contains(ours):
            raise SourceMismatchError(
                name,
                source=log.source,
                reason=f"its location {each} and the Delta table's lie one within the other",
                remedy="Give another location, so that neither's clean-up reaches the other's files.",
            )


def mirrored_at(table: Table, source: str) -> Mirrored | None:
    """Return the version that the mirror is at; None: none has landed.

    Raises:
        SourceMismatchError: the table is no mirror, or somebody else committed to it.
    """
    head = table.metadata.snapshot_by_name(MAIN_BRANCH)
    if head is None:
        if MIRROR_OF in table.metadata.properties:
            return None
        raise SourceMismatchError(
            name_of(table),
            source=source,
            reason="it is there, and is no mirror",
            remedy="Name a table that is not there yet.",
        )
    said = Mirrored.of(head)
    if said is not None:
        return said
    is_ours = any(Mirrored.of(each) is not None for each in walk(table.metadata, head.snapshot_id))
    raise SourceMismatchError(
        name_of(table),
        source=source,
        reason=f"somebody else committed snapshot {head.snapshot_id}" if is_ours else "it is there, and is no mirror",
        remedy=(
            "Roll it back to the last snapshot that has a delta-version, or start over (start_over=, --start-over)."
            if is_ours
            else "Name a table that is not there yet."
        ),
    )
