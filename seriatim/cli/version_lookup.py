"""Which snapshot of a mirror is which Delta version, asked by either."""

from __future__ import annotations

from typing import assert_never

import typer
from pyiceberg.table import Table

from seriatim.cli import documents, exit_codes, mirror_views
from seriatim.mirror import VersionFound, VersionGone, VersionNotMirrored, delta_version_of, look_up_version


def answer(
    table: Table, name: str, branch: str, delta_version: int | None, snapshot_id: int | None, *, json: bool
) -> int:
    """Print the snapshot that a version is or the version that a snapshot is, and return the exit code."""
    if delta_version is None:
        assert snapshot_id is not None  # One of the two is asked for.
        return _of_snapshot(table, name, snapshot_id, json=json)
    found = look_up_version(table, delta_version, branch)
    if json:
        documents.print_json(mirror_views.version_document(name, branch, found))
    else:
        typer.echo(mirror_views.version_sentence(name, found))
    match found:
        case VersionFound():
            return 0
        case VersionGone():
            return exit_codes.CANNOT_TELL
        case VersionNotMirrored():
            return exit_codes.NOT_APPLIED
        case _:
            assert_never(found)


def _of_snapshot(table: Table, name: str, snapshot_id: int, *, json: bool) -> int:
    snapshot = table.snapshot_by_id(snapshot_id)
    version = delta_version_of(table, snapshot) if snapshot is not None else None
    if json:
        status = "mirrored" if version is not None else "gone" if snapshot is None else "not mirrored"
        document = {"table": name, "status": status, "snapshot_id": snapshot_id, "delta_version": version}
        documents.print_json(document)
    elif version is not None:
        typer.echo(f"{name}: snapshot {snapshot_id} is Delta version {version}.")
    elif snapshot is None:
        typer.echo(f"{name}: there is no snapshot {snapshot_id}; it may have been expired.")
    else:
        typer.echo(f"{name}: snapshot {snapshot_id} is no Delta version: not the mirror made it.")
    if version is not None:
        return 0
    return exit_codes.CANNOT_TELL if snapshot is None else exit_codes.NOT_APPLIED
